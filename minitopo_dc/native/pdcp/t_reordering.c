#include "t_reordering.h"

#include "../base/arithmetic.h"

#define MS INT64_C(1000000)
#define INITIAL (200 * MS)
#define WINDOW (2000 * MS)
#define MARGIN 2

/* The finite values of TS 38.331 from 1 ms on, in ms. */
static const int64_t VALUES[] = {
    1,   2,   4,   5,   8,   10,  15,  20,  30,  40,  50,   60,   80,   100,  120,  140,  160,  180,
    200, 220, 240, 260, 280, 300, 500, 750, 1000, 1250, 1500, 1750, 2000, 2250, 2500, 2750, 3000,
};
#define HIGHEST (3000 * MS)

static int64_t longest_of(extreme_ring *kept, int64_t now)
{
    while (extreme_ring_count(kept) && now - extreme_ring_at(kept, 0)->at > WINDOW)
        extreme_ring_pop(kept);
    return extreme_ring_count(kept) ? extreme_ring_at(kept, 0)->value : -1;
}

int64_t adaptive_value(adaptive *self, int64_t now)
{
    int64_t longest = -1, wanted;
    const int64_t *value = VALUES;

    for (int leg = 0; leg < MAX_LEGS; leg++)
        longest = later(longest, longest_of(&self->longest[leg], now));
    wanted = longest < 0 ? INITIAL : longest * MARGIN;
    if (!self->has_seen || now < self->learns_until)
        wanted = later(wanted, INITIAL);
    wanted = earlier(wanted, HIGHEST);
    while (*value * MS < wanted)
        value++;
    return *value * MS;
}

void adaptive_opened(adaptive *self, int64_t first, int64_t end, int64_t now)
{
    while (gap_ring_count(&self->gaps) && now - gap_ring_at(&self->gaps, 0)->since > HIGHEST)
        gap_ring_pop(&self->gaps); /* for what is still missing there no value would be long enough */
    gap_ring_push(&self->gaps, (gap){first, end, now});
    if (!self->has_seen) {
        self->has_seen = 1;
        self->learns_until = now + WINDOW;
    }
}

/* The first gap that ends behind `count`, or NULL. */
static const gap *gap_of(const adaptive *self, int64_t count)
{
    uint64_t low = 0, high = gap_ring_count(&self->gaps);

    while (low < high) {
        uint64_t middle = (low + high) / 2;

        if (gap_ring_at(&self->gaps, middle)->end <= count)
            low = middle + 1;
        else
            high = middle;
    }
    return low < gap_ring_count(&self->gaps) ? gap_ring_at(&self->gaps, low) : NULL;
}

void adaptive_arrived(adaptive *self, int64_t count, int leg, int64_t now)
{
    const gap *found = gap_of(self, count);
    extreme_ring *kept = &self->longest[leg];

    if (found == NULL || found->first > count)
        return;
    while (extreme_ring_count(kept) && extreme_ring_last(kept)->value <= now - found->since)
        extreme_ring_pop_last(kept);
    extreme_ring_push(kept, (extreme){now, now - found->since});
}

void adaptive_end(adaptive *self)
{
    gap_ring_free(&self->gaps);
    for (int leg = 0; leg < MAX_LEGS; leg++)
        extreme_ring_free(&self->longest[leg]);
}
