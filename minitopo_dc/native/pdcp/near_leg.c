#include "near_leg.h"

#include "../base/arithmetic.h"

#define MIN_PACKETS 2

void near_leg_begin(near_leg *self, leg *of, int header, int64_t lead)
{
    self->leg = of;
    self->header = header;
    self->lead = lead;
    self->settled = self->serves = 1;
}

void near_leg_end(near_leg *self)
{
    outstanding_ring_free(&self->inside);
    pdu_ring_free(&self->sent);
}

int64_t near_leg_count(const near_leg *self)
{
    return (int64_t)(outstanding_ring_count(&self->inside) + pdu_ring_count(&self->sent));
}

static int is_empty(const near_leg *self, int64_t now)
{
    return leg_served_packets(self->leg, now) == leg_joined_packets(self->leg);
}

/* Forget what the queue did not take, and what has been served by `now`. */
static void settle_inside(near_leg *self, int64_t now)
{
    int64_t joined = leg_joined_packets(self->leg), served;

    while (outstanding_ring_count(&self->inside) && outstanding_ring_last(&self->inside)->number > joined)
        self->bytes -= outstanding_ring_pop_last(&self->inside).size;
    served = leg_served_packets(self->leg, now);
    while (outstanding_ring_count(&self->inside) && outstanding_ring_at(&self->inside, 0)->number <= served)
        self->bytes -= outstanding_ring_pop(&self->inside).size;
}

void near_leg_settle(near_leg *self, int64_t now)
{
    settle_inside(self, now);
    self->settled = pdu_ring_count(&self->sent) == 0;
    self->serves = !leg_is_up(self->leg) || leg_service_end(self->leg, now) != NEVER || is_empty(self, now);
}

int near_leg_is_up(const near_leg *self)
{
    return leg_is_up(self->leg) && self->serves;
}

static int has_room(near_leg *self, int64_t now, int size)
{
    if (!self->settled)
        return 0;
    return leg_has_room(self->leg, now, size + self->header) || is_empty(self, now);
}

int near_leg_takes(near_leg *self, int64_t now, int size)
{
    wide within;

    if (!near_leg_is_up(self) || !has_room(self, now, size))
        return 0;
    if (self->lead == NEVER || outstanding_ring_count(&self->inside) < MIN_PACKETS)
        return 1;
    within = wide_floor_div((wide)leg_rate_bps(self->leg, now) * self->lead, 8 * NS_PER_S);
    return self->bytes < within;
}

void near_leg_send(near_leg *self, pdu what)
{
    pdu_ring_push(&self->sent, what);
    self->settled = 0;
}

void near_leg_arrived(near_leg *self, pdu_ring *ready)
{
    while (pdu_ring_count(&self->sent)) {
        pdu what = pdu_ring_pop(&self->sent);
        int64_t last = outstanding_ring_count(&self->inside) ? outstanding_ring_last(&self->inside)->number : 0;

        last = later(last, leg_joined_packets(self->leg));
        outstanding_ring_push(&self->inside, (outstanding){last + 1, what.size});
        self->bytes += what.size;
        pdu_ring_push(ready, what);
    }
}
