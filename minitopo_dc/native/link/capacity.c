/* Which of the three a capacity is; the constant rate itself. */
#include "capacity.h"

#include "../base/arithmetic.h"
#include "../base/memory.h"
#include "opportunities.h"
#include "rates.h"

enum { CONSTANT, RATES, OPPORTUNITIES };

/* The last packet's exact end is `whole` ns and `part` / rate ns behind it. */
typedef struct {
    int64_t rate, whole, part, last;
} constant;

struct capacity {
    int kind;
    union {
        constant constant;
        rates rates;
        opportunities opportunities;
    } of;
};

static capacity *of_kind(int kind)
{
    capacity *self = zeroed(1, sizeof(*self));

    self->kind = kind;
    return self;
}

capacity *capacity_constant(int64_t rate_bps)
{
    capacity *self = of_kind(CONSTANT);

    self->of.constant.rate = rate_bps;
    self->of.constant.last = NEVER;
    return self;
}

capacity *capacity_rates(const int64_t *edges, const int64_t *rates_bps, size_t count, int after)
{
    capacity *self = of_kind(RATES);

    rates_begin(&self->of.rates, edges, rates_bps, count, after);
    return self;
}

capacity *capacity_opportunities(const int64_t *moments, size_t count, int64_t duration, int64_t bits, int after)
{
    capacity *self = of_kind(OPPORTUNITIES);

    opportunities_begin(&self->of.opportunities, moments, count, duration, bits, after);
    return self;
}

void capacity_free(capacity *self)
{
    if (self == NULL)
        return;
    if (self->kind == RATES)
        rates_end(&self->of.rates);
    if (self->kind == OPPORTUNITIES)
        opportunities_end(&self->of.opportunities);
    free(self);
}

static int64_t constant_finish(constant *self, int64_t start, int64_t bits)
{
    if (start != self->last) {
        self->whole = start;
        self->part = 0;
    }
    self->part += bits * NBIT;
    self->whole += self->part / self->rate;
    self->part %= self->rate;
    return self->last = self->whole + (self->part > 0);
}

static int64_t constant_left(const constant *self, int64_t now)
{
    wide nbits = (wide)self->rate * (self->whole - now) + self->part;

    return (int64_t)wide_ceil_div(nbits, NBIT);
}

int64_t capacity_finish(capacity *self, int64_t start, int64_t bits)
{
    switch (self->kind) {
    case CONSTANT:
        return constant_finish(&self->of.constant, start, bits);
    case RATES:
        return rates_finish(&self->of.rates, start, bits);
    default:
        return opportunities_finish(&self->of.opportunities, start, bits);
    }
}

/* Bits that the packet in service has to go. */
int64_t capacity_left(const capacity *self, int64_t now)
{
    switch (self->kind) {
    case CONSTANT:
        return constant_left(&self->of.constant, now);
    case RATES:
        return rates_left(&self->of.rates, now);
    default:
        return opportunities_left(&self->of.opportunities, now);
    }
}

/* Stop the packet in service: its bits left. */
int64_t capacity_interrupt(capacity *self, int64_t now)
{
    int64_t left = capacity_left(self, now);

    if (self->kind == CONSTANT)
        self->of.constant.last = NEVER;
    else if (self->kind == RATES)
        self->of.rates.last = NEVER;
    else
        opportunities_skip(&self->of.opportunities, now);
    return left;
}

int64_t capacity_rate_at(const capacity *self, int64_t time)
{
    switch (self->kind) {
    case CONSTANT:
        return self->of.constant.rate;
    case RATES:
        return rates_at(&self->of.rates, time);
    default:
        return opportunities_rate_at(&self->of.opportunities, time);
    }
}
