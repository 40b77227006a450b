#include "report_maker.h"

#include "../base/arithmetic.h"

report_maker *report_maker_new(const receive *of, int sn_bits, int legs)
{
    report_maker *self = zeroed(1, sizeof(*self));

    self->of = of;
    self->legs = legs;
    self->mask = (INT64_C(1) << sn_bits) - 1;
    self->window = INT64_C(1) << (sn_bits - 1);
    return self;
}

void report_maker_free(report_maker *self)
{
    free(self);
}

/* A PDU with an SDU of `size` bytes arrived on `leg`. */
void report_maker_push(report_maker *self, int64_t sn, int size, int leg)
{
    int64_t lowest = self->highest - self->window;
    int64_t count = lowest + ((sn - lowest) & self->mask);
    reception *found = &self->found[leg];

    if (count < 0)
        return; /* nobody sent it */
    found->pdus++;
    found->bytes += size;
    found->next_count = later(found->next_count, count + 1);
    self->highest = later(self->highest, count + 1);
}

void report_maker_count(const report_maker *self, reception *found)
{
    for (int leg = 0; leg < self->legs; leg++) {
        found[leg] = self->found[leg];
        found[leg].reordered = self->of->counters.waited[leg];
        found[leg].reordering_ns = self->of->counters.waited_ns[leg];
    }
}
