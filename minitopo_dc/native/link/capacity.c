#include "link.h"

/* The first of ascending values that is not below `value`; `count`: all are. */
static int64_t first_not_below(const wide *values, int64_t count, wide value)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static wide *copy_of(const int64_t *values, size_t count)
{
    wide *made = resized(NULL, count, sizeof(*made));

    for (size_t i = 0; i < count; i++)
        made[i] = values[i];
    return made;
}

/* Mahimahi's delivery opportunities. */

typedef struct {
    wide *moments; /* of the first lap */
    int64_t count, duration, size, limit;
    int64_t index, time, left; /* the opportunity in use, and the bits that it can still pass */
} opportunities;

#define RATE_WINDOW (100 * INT64_C(1000000)) /* ns, as RATE_WINDOW_NS of the twin */

static int64_t moment(const opportunities *self, int64_t index)
{
    int64_t lap = floor_div(index, self->count);

    return narrow((wide)lap * self->duration + self->moments[index - lap * self->count]);
}

/* The number of the first opportunity at or after `time`. */
static int64_t count_before(const opportunities *self, int64_t time)
{
    int64_t lap = floor_div(time - 1, self->duration);
    int64_t first = first_not_below(self->moments, self->count, time - lap * self->duration);

    return earlier(narrow((wide)lap * self->count + first), self->limit);
}

/* The first opportunity that serves what arrives at `time`. */
static int64_t first_from(const opportunities *self, int64_t time)
{
    int64_t first = count_before(self, time);

    return time >= 0 ? later(first, 0) : first;
}

static wide opportunities_bits_until(const opportunities *self, int64_t time)
{
    return (wide)(first_from(self, time) - first_from(self, 0)) * self->size;
}

static int64_t opportunities_finish(opportunities *self, int64_t start, int64_t bits)
{
    int64_t index, left;

    if (start > self->time) {
        self->index = first_from(self, start);
        self->time = moment(self, self->index);
        self->left = self->size;
    }
    index = self->index;
    left = self->left - bits;
    if (left < 0) {
        int64_t more = -floor_div(left, self->size);

        index += more;
        left += more * self->size;
    }
    if (index >= self->limit)
        return NEVER;
    if (index != self->index) {
        self->index = index;
        self->time = moment(self, index);
    }
    self->left = left;
    return self->time;
}

static int64_t opportunities_left(const opportunities *self, int64_t now)
{
    int64_t between = self->index - count_before(self, now + 1);

    return self->size - self->left + between * self->size;
}

/* The opportunities up to `now` are used. */
static void opportunities_skip(opportunities *self, int64_t now)
{
    self->index = count_before(self, now + 1) - 1;
    self->time = moment(self, self->index);
    self->left = 0;
}

static int64_t opportunities_rate_at(const opportunities *self, int64_t time)
{
    int64_t bits = (first_from(self, time) - first_from(self, time - RATE_WINDOW)) * self->size;

    return narrow(wide_floor_div((wide)bits * NS_PER_S, RATE_WINDOW));
}

/* The exact integral of a rate trace, in integers. */

typedef struct {
    wide from, to;   /* ns */
    wide done, full; /* work at both, in 1e-9 bit from time 0 on */
    int64_t rate;
} segment;

typedef struct {
    wide *edges;    /* `count` + 1 of them */
    int64_t *rates; /* the one behind the last is what follows the trace's end */
    wide *work;     /* up to each edge */
    int64_t count;
    int loops;
    segment in;
    int64_t last;
    wide reached; /* work at the exact end of the last packet */
} rates;

#define FAR ((wide)1 << 80) /* ns, beyond any run: the edge of a segment that has none */

static segment before(const rates *self)
{
    return (segment){-FAR, 0, -FAR * self->rates[0], 0, self->rates[0]};
}

/* Segment `index` of a lap; the one after the last is what follows the trace's end. */
static segment nth_segment(const rates *self, wide lap, int64_t index)
{
    wide begin = lap * self->edges[self->count];
    wide from = begin + self->edges[index], to = index == self->count ? FAR : begin + self->edges[index + 1];
    wide done = lap * self->work[self->count] + self->work[index];

    return (segment){from, to, done, done + self->rates[index] * (to - from), self->rates[index]};
}

static segment segment_at(const rates *self, wide time)
{
    wide lap = 0;

    if (time < 0)
        return before(self);
    if (self->loops) {
        lap = wide_floor_div(time, (int64_t)self->edges[self->count]);
        time -= lap * self->edges[self->count];
    }
    return nth_segment(self, lap, first_not_below(self->edges, self->count + 1, time + 1) - 1);
}

/* The segment in which `work` is first complete; 0 if it never is. */
static int segment_reaching(const rates *self, wide work, segment *found)
{
    wide total = self->work[self->count], lap = 0;
    int64_t index;

    if (work <= 0) {
        *found = before(self);
        return 1;
    }
    if (self->loops && total > 0)
        lap = (work - 1) / total;
    index = first_not_below(self->work, self->count + 1, work - lap * total) - 1;
    if (index == self->count && (self->loops || self->rates[index] == 0))
        return 0;
    *found = nth_segment(self, lap, index);
    return 1;
}

static int64_t rates_finish(rates *self, int64_t start, int64_t bits)
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

static segment around(const rates *self, int64_t time)
{
    return time >= self->in.from && time < self->in.to ? self->in : segment_at(self, time);
}

static wide work_at(const rates *self, int64_t time)
{
    segment here = around(self, time);

    return here.done + here.rate * (time - here.from);
}

static int64_t rates_left(const rates *self, int64_t now)
{
    return (int64_t)wide_ceil_div(self->reached - work_at(self, now), NBIT);
}

struct capacity {
    int has_rates;
    union {
        rates rates;
        opportunities opportunities;
    } of;
};

capacity *capacity_rates(const int64_t *edges, const int64_t *rates_bps, size_t count, int after)
{
    capacity *made = zeroed(1, sizeof(*made));
    rates *self = &made->of.rates;

    made->has_rates = 1;
    *self = (rates){copy_of(edges, count + 1), .count = (int64_t)count, .loops = after == AFTER_LOOP, .last = NEVER};
    self->rates = zeroed(count + 1, sizeof(*self->rates));
    self->work = zeroed(count + 1, sizeof(*self->work));
    memcpy(self->rates, rates_bps, count * sizeof(*rates_bps));
    if (after == AFTER_HOLD)
        self->rates[count] = rates_bps[count - 1];
    for (size_t i = 0; i < count; i++)
        self->work[i + 1] = self->work[i] + (wide)rates_bps[i] * (edges[i + 1] - edges[i]);
    self->in = segment_at(self, 0);
    return made;
}

capacity *capacity_opportunities(const int64_t *moments, size_t count, int64_t duration, int64_t bits, int after)
{
    capacity *self = zeroed(1, sizeof(*self));
    int64_t limit = after == AFTER_STOP ? (int64_t)count : INT64_MAX;

    self->of.opportunities = (opportunities){copy_of(moments, count), (int64_t)count, duration, bits, limit,
                                             .time = INT64_MIN};
    return self;
}

void capacity_free(capacity *self)
{
    if (self == NULL)
        return;
    if (self->has_rates) {
        free(self->of.rates.edges);
        free(self->of.rates.rates);
        free(self->of.rates.work);
    } else {
        free(self->of.opportunities.moments);
    }
    free(self);
}

int64_t capacity_finish(capacity *self, int64_t start, int64_t bits)
{
    return self->has_rates ? rates_finish(&self->of.rates, start, bits)
                           : opportunities_finish(&self->of.opportunities, start, bits);
}

/* Bits that the packet in service has to go. */
int64_t capacity_left(const capacity *self, int64_t now)
{
    return self->has_rates ? rates_left(&self->of.rates, now) : opportunities_left(&self->of.opportunities, now);
}

/* Stop the packet in service: its bits left. */
int64_t capacity_interrupt(capacity *self, int64_t now)
{
    int64_t left = capacity_left(self, now);

    if (self->has_rates)
        self->of.rates.last = NEVER;
    else
        opportunities_skip(&self->of.opportunities, now);
    return left;
}

/* When the first bit that may begin at `start` is through, whatever was served before. */
int64_t capacity_first_bit(const capacity *self, int64_t start)
{
    capacity untouched = *self;

    return capacity_finish(&untouched, start, 1);
}

/* How many whole bits could pass in [0, time). */
wide capacity_bits_until(const capacity *self, int64_t time)
{
    return self->has_rates ? wide_floor_div(work_at(&self->of.rates, time), NBIT)
                           : opportunities_bits_until(&self->of.opportunities, time);
}

int64_t capacity_rate_at(const capacity *self, int64_t time)
{
    return self->has_rates ? around(&self->of.rates, time).rate
                           : opportunities_rate_at(&self->of.opportunities, time);
}
