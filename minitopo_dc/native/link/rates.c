#include "rates.h"

#include "../base/memory.h"
#include "capacity.h"

#define FAR ((wide)1 << 80) /* ns, beyond any run: the edge of a segment that has none */

static segment segment_at(const rates *self, wide time);

void rates_begin(rates *self, const int64_t *edges, const int64_t *rates_bps, size_t count, int after)
{
    self->count = count;
    self->loops = after == AFTER_LOOP;
    self->edges = resized(NULL, count + 1, sizeof(*self->edges));
    self->rates = resized(NULL, count + 1, sizeof(*self->rates));
    self->work = resized(NULL, count + 1, sizeof(*self->work));
    memcpy(self->edges, edges, (count + 1) * sizeof(*edges));
    memcpy(self->rates, rates_bps, count * sizeof(*rates_bps));
    self->rates[count] = after == AFTER_HOLD ? rates_bps[count - 1] : 0;
    self->work[0] = 0;
    for (size_t i = 0; i < count; i++)
        self->work[i + 1] = self->work[i] + (wide)rates_bps[i] * (edges[i + 1] - edges[i]);
    self->last = NEVER;
    self->reached = 0;
    self->in = segment_at(self, 0);
}

void rates_end(rates *self)
{
    free(self->edges);
    free(self->rates);
    free(self->work);
}

static segment before(const rates *self)
{
    return (segment){-FAR, 0, -FAR * self->rates[0], 0, self->rates[0]};
}

/* Segment `index` of a lap; the one after the last is what follows the trace's end. */
static segment nth_segment(const rates *self, wide lap, size_t index)
{
    wide begin = lap * self->edges[self->count];
    segment found;

    found.from = begin + self->edges[index];
    found.to = index == self->count ? FAR : begin + self->edges[index + 1];
    found.rate = self->rates[index];
    found.done = lap * self->work[self->count] + self->work[index];
    found.full = found.done + found.rate * (found.to - found.from);
    return found;
}

static segment segment_at(const rates *self, wide time)
{
    size_t low = 0, high = self->count + 1;
    wide lap = 0;

    if (time < 0)
        return before(self);
    if (self->loops) {
        lap = wide_floor_div(time, self->edges[self->count]);
        time -= lap * self->edges[self->count];
    }
    while (low < high) { /* the first edge behind `time` */
        size_t middle = (low + high) / 2;

        if (self->edges[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return nth_segment(self, lap, low - 1);
}

/* The segment in which `work` is first complete; 0 if it never is. */
static int segment_reaching(const rates *self, wide work, segment *found)
{
    size_t low = 0, high = self->count + 1;
    wide total = self->work[self->count], lap = 0;

    if (work <= 0) {
        *found = before(self);
        return 1;
    }
    if (self->loops && total > 0)
        lap = (work - 1) / total;
    while (low < high) { /* the first edge with so much work */
        size_t middle = (low + high) / 2;

        if (self->work[middle] < work - lap * total)
            low = middle + 1;
        else
            high = middle;
    }
    low--;
    if (low == self->count && (self->loops || self->rates[low] == 0))
        return 0;
    *found = nth_segment(self, lap, low);
    return 1;
}

int64_t rates_finish(rates *self, int64_t start, int64_t bits)
{
    wide work;

    if (start == self->last) {
        work = self->reached;
    } else {
        if (start < self->in.from || start >= self->in.to)
            self->in = segment_at(self, start);
        work = self->in.done + self->in.rate * (start - self->in.from);
    }
    work += (wide)bits * NBIT;
    if (work > self->in.full && !segment_reaching(self, work, &self->in))
        return NEVER;
    self->reached = work;
    return self->last = narrow(self->in.from + wide_ceil_div(work - self->in.done, self->in.rate));
}

int64_t rates_left(const rates *self, int64_t now)
{
    segment here = self->in;

    if (now < here.from || now >= here.to)
        here = segment_at(self, now);
    return (int64_t)wide_ceil_div(self->reached - (here.done + here.rate * (now - here.from)), NBIT);
}

int64_t rates_at(const rates *self, int64_t time)
{
    if (time >= self->in.from && time < self->in.to)
        return self->in.rate;
    return segment_at(self, time).rate;
}
