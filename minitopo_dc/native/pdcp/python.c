/* Legs and entities as Python makes them, whose packets are numbers until a driver has them. */
#include "pdcp.h"

static int ecn_of(const void *number)
{
    return (int)((uintptr_t)number & CE);
}

static void *mark(void *number)
{
    return (void *)((uintptr_t)number | CE);
}

/* Nobody counts; the last bits of a number are its code point. */
static const packet_hooks NOBODY = {NULL, NULL, ecn_of, mark};

leg *leg_new(const leg_parameters *is, const uint32_t *delay_random, const uint32_t *loss_random)
{
    leg *self = zeroed(1, sizeof(*self));

    self->kind = &plain_leg;
    self->hooks = NOBODY;
    self->zero = INT64_C(1) << 62; /* a time zero that every clock reading is before */
    self->since = INT64_MIN;
    self->is = *is;
    self->up = 1;
    self->news = self->plain.finish = NEVER;
    self->plain.granted = INT64_MIN;
    self->air.overtakes = is->reorder;
    rng_set(&self->delay_random, delay_random);
    rng_set(&self->loss_random, loss_random);
    return self;
}

transmit *transmit_new(int sn_bits, int header, int legs, leg **states, policy *split, int reports,
                       const sdu_buffer *waiting, int early, int64_t lead, int64_t mark_above)
{
    transmit *self = zeroed(1, sizeof(*self));

    self->hooks = NOBODY;
    self->mask = (INT64_C(1) << sn_bits) - 1;
    self->header = header;
    self->legs = legs;
    self->split = split;
    self->waits = self->follows = waiting != NULL;
    self->early = early;
    self->buffer = waiting != NULL ? *waiting : (sdu_buffer){{0, 0}, NEVER};
    self->wake = NEVER;
    self->mark_above = mark_above;
    if (reports) {
        self->heard = zeroed(1, sizeof(feedback));
        self->heard->legs = legs;
    }
    for (int i = 0; i < legs; i++)
        self->access[i] = (bearer_leg){.leg = states[i], .header = header, .lead = lead, .settled = 1, .serves = 1};
    return self;
}

void transmit_behind(transmit *self, int leg, const flow_control *control, const uint32_t *random)
{
    self->access[leg].distant = distant_new(control, random, self->access[leg].leg, self->header);
    self->follows = 1;
}
