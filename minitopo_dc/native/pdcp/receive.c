#include "pdcp.h"

#define MS INT64_C(1000000)
#define INITIAL (200 * MS)
#define WINDOW (2000 * MS)
#define MARGIN 2

/* The finite values of TS 38.331, in ms: those of pdcp/timers.py, with which this file is compiled. */
static const int64_t VALUES[] = {T_REORDERING_MS};

#define LOWEST (VALUES[1] * MS) /* with 0 nothing is learned but from what is too late */
#define HIGHEST (VALUES[sizeof(VALUES) / sizeof(*VALUES) - 1] * MS)

static int64_t longest_of(extreme_ring *kept, int64_t now)
{
    while (extreme_ring_count(kept) && now - extreme_ring_at(kept, 0)->at > WINDOW)
        extreme_ring_pop(kept);
    return extreme_ring_count(kept) ? extreme_ring_at(kept, 0)->value : -1;
}

static int64_t adaptive_value(adaptive *self, int64_t now)
{
    int64_t longest = -1, wanted;
    const int64_t *value = VALUES;

    for (int leg = 0; leg < MAX_LEGS; leg++)
        longest = later(longest, longest_of(&self->longest[leg], now));
    wanted = longest < 0 ? INITIAL : longest * MARGIN;
    if (!self->has_seen || now < self->learns_until)
        wanted = later(wanted, INITIAL);
    wanted = earlier(later(wanted, LOWEST), HIGHEST);
    while (*value * MS < wanted)
        value++;
    return *value * MS;
}

/* COUNTs `first` to before `end` are missing. */
static void adaptive_opened(adaptive *self, int64_t first, int64_t end, int64_t now)
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

/* A COUNT that was missing has arrived. */
static void adaptive_arrived(adaptive *self, int64_t count, int leg, int64_t now)
{
    const gap *found = gap_of(self, count);
    extreme_ring *kept = &self->longest[leg];

    if (found == NULL || found->first > count)
        return;
    while (extreme_ring_count(kept) && extreme_ring_last(kept)->value <= now - found->since)
        extreme_ring_pop_last(kept);
    extreme_ring_push(kept, (extreme){now, now - found->since});
}

receive *receive_new(int sn_bits, int64_t t_reordering, int legs, int delivery, int keeps_order)
{
    receive *self = zeroed(1, sizeof(*self));

    self->legs = legs;
    self->in_order = delivery == DELIVERY_IN_ORDER;
    self->off = delivery == DELIVERY_OFF;
    self->keeps_order = keeps_order;
    self->mask = (INT64_C(1) << sn_bits) - 1;
    self->window = INT64_C(1) << (sn_bits - 1);
    self->t_reordering = t_reordering;
    self->expires = NEVER;
    self->is_adaptive = t_reordering == ADAPTIVE_T_REORDERING;
    if (self->is_adaptive)
        self->t_reordering = adaptive_value(&self->adaptive, 0);
    self->room = 64;
    self->slots = zeroed((size_t)self->room, sizeof(slot));
    return self;
}

void receive_free(void *made)
{
    receive *self = made;

    gap_ring_free(&self->adaptive.gaps);
    for (int leg = 0; leg < MAX_LEGS; leg++)
        extreme_ring_free(&self->adaptive.longest[leg]);
    free(self->slots);
    free(self->given_up);
    packet_ring_free(&self->ready);
    free(self);
}

static slot *slot_of(const receive *self, int64_t count)
{
    return &self->slots[count & (self->room - 1)];
}

static int is_stored(const receive *self, int64_t count)
{
    return count - self->deliv < self->room && slot_of(self, count)->is != SLOT_EMPTY;
}

static void make_room(receive *self, int64_t count)
{
    int64_t room = self->room;
    slot *slots;

    while (count - self->deliv >= room)
        room *= 2;
    if (room == self->room)
        return;
    slots = zeroed((size_t)room, sizeof(slot));
    for (int64_t each = self->deliv; each < self->deliv + self->room; each++)
        slots[each & (room - 1)] = *slot_of(self, each);
    free(self->slots);
    self->slots = slots;
    self->room = room;
}

static void store(receive *self, int64_t count, slot what)
{
    make_room(self, count);
    *slot_of(self, count) = what;
    self->stored++;
}

static void count_waiting(receive *self, int leg, int64_t waited)
{
    receive_counters *counters = &self->counters;

    counters->waited[leg]++;
    counters->waited_ns[leg] += waited;
    counters->waiting_maximum = later(counters->waiting_maximum, waited);
    counters->histogram[earlier(bits_of(waited / 1000), WAITING_BUCKETS - 1)]++;
}

/* Deliver stored SDUs with consecutive COUNTs from `count` on; the first not stored. */
static int64_t deliver_from(receive *self, int64_t count, int64_t at)
{
    while (is_stored(self, count)) {
        slot *found = slot_of(self, count);

        if (found->is == SLOT_STORED) {
            packet_ring_push(&self->ready, found->sdu);
            count_waiting(self, found->leg, at - found->arrived);
        }
        found->is = SLOT_EMPTY;
        self->stored--;
        count++;
    }
    return count;
}

static void give_up(receive *self, int64_t count)
{
    if (self->given_up == NULL)
        self->given_up = zeroed((size_t)self->mask + 1, sizeof(*self->given_up));
    self->given_up[count & self->mask] = count + 1;
    self->counters.missing++;
}

/* Deliver the stored COUNTs < `reord` and on from there; the first not delivered. */
static int64_t give_up_before(receive *self, int64_t reord, int64_t at)
{
    int64_t count = self->deliv;

    while (count < reord) {
        if (is_stored(self, count))
            count = deliver_from(self, count, at);
        else
            give_up(self, count++);
    }
    return count;
}

/* Stop t-Reordering; start it if a COUNT is waited for. */
static void restart(receive *self, int64_t now)
{
    self->expires = NEVER;
    if (self->deliv == self->next)
        return;
    self->reord = self->next;
    if (self->is_adaptive)
        self->t_reordering = adaptive_value(&self->adaptive, now);
    if (self->t_reordering != NEVER)
        self->expires = now + self->t_reordering;
}

/* Clause 5.2.2.2, for each expiry up to `now`, at its own time. */
static void settle(receive *self, int64_t now)
{
    while (now >= self->expires) {
        int64_t end = self->expires;

        self->counters.t_reordering_expiries++;
        self->deliv = give_up_before(self, self->reord, end);
        restart(self, end);
    }
}

/* Count a PDU with COUNT < RX_DELIV, which is a copy unless its COUNT was given up. */
static void discard(receive *self, int64_t count, int leg, int64_t now)
{
    int64_t *given = self->given_up == NULL ? NULL : &self->given_up[count & self->mask];

    if (count >= 0 && given != NULL && *given == count + 1) {
        *given = 0; /* another copy of it is a duplicate */
        self->counters.old++;
        if (self->is_adaptive)
            adaptive_arrived(&self->adaptive, count, leg, now);
    } else if (count < 0) {
        self->counters.old++;
    } else {
        self->counters.duplicates++;
    }
}

/* Tell of a gap that opens with this COUNT, or of one that it was missing in. */
static void learn(receive *self, int64_t count, int leg, int64_t now)
{
    if (count > self->next)
        adaptive_opened(&self->adaptive, self->next, count, now);
    else if (count < self->next)
        adaptive_arrived(&self->adaptive, count, leg, now);
}

static void keep(receive *self, int64_t count, void *sdu, int leg, int64_t now)
{
    if (count == self->deliv) {
        packet_ring_push(&self->ready, sdu);
        self->deliv = deliver_from(self, count + 1, now);
    } else if (self->in_order) {
        store(self, count, (slot){sdu, now, leg, SLOT_STORED});
        self->counters.buffered_maximum = later(self->counters.buffered_maximum, self->stored);
    } else {
        store(self, count, (slot){NULL, now, leg, SLOT_DELIVERED});
        packet_ring_push(&self->ready, sdu);
    }
}

/* Clause 5.2.2.1. */
static int take(receive *self, int64_t count, void *sdu, int leg, int64_t now)
{
    if (count < self->deliv) {
        discard(self, count, leg, now);
        return 0;
    }
    if (is_stored(self, count)) {
        self->counters.duplicates++;
        return 0;
    }
    keep(self, count, sdu, leg, now);
    if (self->is_adaptive)
        learn(self, count, leg, now);
    if (count >= self->next)
        self->next = count + 1;
    if (self->deliv >= self->reord) /* as always while t-Reordering is stopped */
        restart(self, now);
    return 1;
}

/* Legs keep their order: what is missing below the least of their COUNTs never comes. */
static void give_up_what_all_legs_passed(receive *self, int64_t now)
{
    int64_t passed = self->leg_next[0], before = self->counters.missing;

    for (int leg = 1; leg < self->legs; leg++)
        passed = earlier(passed, self->leg_next[leg]);
    if (passed <= self->deliv)
        return;
    self->deliv = give_up_before(self, passed, now);
    self->counters.missing_by_order += self->counters.missing - before;
    if (self->deliv >= self->reord)
        restart(self, now);
}

int receive_push(receive *self, int64_t sn, int64_t count, void *sdu, int leg, int64_t now)
{
    int64_t ahead, concluded;
    int kept;

    self->counters.pdus[leg]++;
    settle(self, now);
    ahead = (sn - self->deliv) & self->mask;
    if (self->off || (!ahead && !self->stored)) { /* the usual case: in order, none waits */
        packet_ring_push(&self->ready, sdu);
        if (!self->off) {
            self->counters.desynchronised += count >= 0 && count != self->deliv;
            self->deliv = self->next = self->deliv + 1;
        }
        return 1;
    }
    concluded = self->deliv + (ahead < self->window ? ahead : ahead - self->mask - 1);
    self->counters.desynchronised += count >= 0 && count != concluded;
    kept = take(self, concluded, sdu, leg, now);
    if (self->keeps_order && concluded >= self->leg_next[leg]) {
        self->leg_next[leg] = concluded + 1;
        give_up_what_all_legs_passed(self, now);
    }
    return kept;
}

int receive_poll(receive *self, int64_t now, void **sdu)
{
    settle(self, now);
    if (!packet_ring_count(&self->ready))
        return 0;
    *sdu = packet_ring_pop(&self->ready);
    return 1;
}

int64_t receive_next_timeout(const receive *self)
{
    return self->expires;
}

void receive_count(const receive *self, receive_counters *found)
{
    *found = self->counters;
    found->buffered = self->in_order ? self->stored : 0;
    found->t_reordering = self->t_reordering;
    found->rx_deliv = self->deliv;
    found->rx_next = self->next;
    found->rx_reord = self->reord;
}

/* COUNTs behind RX_DELIV that were received, as bits of `bitmap`: bit k, counted from 1, is of
 * RX_DELIV + k. The bytes up to the highest one, `room` at most. */
int receive_status(const receive *self, uint8_t *bitmap, int room)
{
    int used = 0;

    memset(bitmap, 0, (size_t)room);
    for (int64_t offset = 0; offset < (int64_t)room * 8 && self->deliv + offset + 1 < self->next; offset++)
        if (is_stored(self, self->deliv + offset + 1)) {
            bitmap[offset >> 3] |= (uint8_t)(0x80 >> (offset & 7));
            used = (int)(offset >> 3) + 1;
        }
    return used;
}

void receive_note(receive *self, int64_t sn, int size, int leg)
{
    int64_t lowest = self->highest - self->window;
    int64_t count = lowest + ((sn - lowest) & self->mask);
    reception *seen = &self->seen[leg];

    if (count < 0)
        return; /* nobody sent it */
    seen->pdus++;
    seen->bytes += size;
    seen->next_count = later(seen->next_count, count + 1);
    self->highest = later(self->highest, count + 1);
}

void receive_receptions(const receive *self, reception *found)
{
    for (int leg = 0; leg < self->legs; leg++) {
        found[leg] = self->seen[leg];
        found[leg].reordered = self->counters.waited[leg];
        found[leg].reordering_ns = self->counters.waited_ns[leg];
    }
}
