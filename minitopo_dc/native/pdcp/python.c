/* Legs and entities as Python makes them. Tests drive them from there, too, with numbers for packets. */
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

leg *leg_new(const uint32_t *delay_random, const uint32_t *loss_random, int overtakes, int64_t grant)
{
    leg *self = zeroed(1, sizeof(*self));

    self->kind = &plain_leg;
    self->hooks = NOBODY;
    self->zero = INT64_C(1) << 62; /* a time zero that every clock reading is before */
    self->since = INT64_MIN;
    self->limit_packets = self->limit_bytes = self->mtu = INT64_MAX;
    self->up = 1;
    self->news = self->plain.finish = NEVER;
    self->plain.granted = INT64_MIN;
    self->air.overtakes = overtakes;
    self->grant = grant;
    rng_set(&self->delay_random, delay_random);
    rng_set(&self->loss_random, loss_random);
    return self;
}

void leg_limit(leg *self, int64_t packets, int64_t bytes, int64_t mtu)
{
    self->mtu = mtu;
    self->limit_packets = packets;
    self->limit_bytes = bytes;
}

int leg_push_number(leg *self, uintptr_t number, int size, int64_t now)
{
    carried what = {(void *)number, -1};

    return leg_push(self, &what, size, now);
}

int leg_poll_number(leg *self, int64_t now, uintptr_t *number)
{
    carried what;

    if (!leg_poll(self, now, &what))
        return 0;
    *number = (uintptr_t)what.packet;
    return 1;
}

int leg_dropped_number(leg *self, uintptr_t *number)
{
    carried what;

    if (!leg_dropped(self, &what))
        return 0;
    *number = (uintptr_t)what.packet;
    return 1;
}

int receive_push_number(receive *self, int64_t sn, int64_t count, uintptr_t number, int leg, int64_t now)
{
    return receive_push(self, sn, count, (void *)number, leg, now);
}

int receive_poll_number(receive *self, int64_t now, uintptr_t *number)
{
    receive_settle(self, now);
    if (!packet_ring_count(&self->ready))
        return 0;
    *number = (uintptr_t)packet_ring_pop(&self->ready);
    return 1;
}

transmit *transmit_new(int sn_bits, int header, int legs, leg **states, policy *split, int reports, int waits,
                       int early, int64_t buffer_packets, int64_t buffer_bytes, int64_t discard, int64_t lead)
{
    transmit *self = zeroed(1, sizeof(*self));

    self->hooks = NOBODY;
    self->mask = (INT64_C(1) << sn_bits) - 1;
    self->header = header;
    self->legs = legs;
    self->split = split;
    self->waits = self->follows = waits;
    self->early = early;
    self->buffer_packets = buffer_packets;
    self->buffer_bytes = buffer_bytes;
    self->discard = discard;
    self->wake = self->mark_above = NEVER;
    if (reports) {
        self->heard = zeroed(1, sizeof(feedback));
        self->heard->legs = legs;
    }
    for (int i = 0; i < legs; i++)
        self->access[i] = (bearer_leg){.leg = states[i], .header = header, .lead = lead, .settled = 1, .serves = 1};
    return self;
}

void transmit_mark_above(transmit *self, int64_t wait)
{
    self->mark_above = wait;
}

void transmit_behind(transmit *self, int leg, const flow_control *control, const uint32_t *random)
{
    self->access[leg].distant = distant_new(control, random, self->access[leg].leg, self->header);
    self->follows = 1;
}

int transmit_push_number(transmit *self, uintptr_t number, int size, int64_t now)
{
    return transmit_push(self, (void *)number, size, now);
}

int transmit_poll_number(transmit *self, int *leg, int64_t *count, uintptr_t *number)
{
    pdu found;

    if (!pdu_ring_count(&self->ready))
        return 0;
    found = pdu_ring_pop(&self->ready);
    *leg = found.leg;
    *count = found.count;
    *number = (uintptr_t)found.sdu;
    return 1;
}

int transmit_dropped_number(transmit *self, uintptr_t *number)
{
    if (!sdu_ring_count(&self->expired))
        return 0;
    *number = (uintptr_t)sdu_ring_pop(&self->expired);
    return 1;
}
