#include "bearer_leg.h"

#define MIN_PACKETS 2

void bearer_leg_begin(bearer_leg *self, leg *of, int header, int64_t lead)
{
    self->leg = of;
    self->header = header;
    self->lead = lead;
    self->settled = self->serves = 1;
}

void bearer_leg_end(bearer_leg *self, const packet_hooks *hooks)
{
    distant_free(self->distant, hooks);
    outstanding_ring_free(&self->inside.pdus);
    pdu_ring_free(&self->sent);
}

int64_t bearer_leg_count(const bearer_leg *self)
{
    if (self->distant != NULL)
        return (int64_t)flight_ring_count(&self->distant->sent);
    return (int64_t)(outstanding_ring_count(&self->inside.pdus) + pdu_ring_count(&self->sent));
}

void bearer_leg_settle(bearer_leg *self, int64_t now)
{
    if (self->distant != NULL) {
        distant_settle(self->distant, self->leg, &self->inside, now);
        return;
    }
    outstanding_settle(&self->inside, self->leg, now);
    self->settled = pdu_ring_count(&self->sent) == 0;
    self->serves = !leg_is_up(self->leg) || leg_will_serve(self->leg, now);
}

static int fits(bearer_leg *self, int64_t now, int size)
{
    if (!self->settled)
        return 0;
    return leg_has_room(self->leg, now, size + self->header) || leg_is_empty(self->leg, now);
}

int bearer_leg_takes(bearer_leg *self, int64_t now, int size)
{
    if (!bearer_leg_is_up(self))
        return 0;
    if (self->distant != NULL)
        return distant_has_room(self->distant, size);
    if (!fits(self, now, size))
        return 0;
    if (self->lead == NEVER || outstanding_ring_count(&self->inside.pdus) < MIN_PACKETS)
        return 1;
    return self->inside.bytes < leg_bytes_within(self->leg, now, self->lead);
}

int bearer_leg_send(bearer_leg *self, pdu what, int64_t now)
{
    if (self->distant != NULL)
        return distant_send(self->distant, what, now);
    pdu_ring_push(&self->sent, what);
    self->settled = 0;
    return 1;
}

void bearer_leg_arrived(bearer_leg *self, pdu_ring *ready, int64_t now)
{
    if (self->distant != NULL)
        distant_arrived(self->distant, self->leg, &self->inside, ready, now);
    while (pdu_ring_count(&self->sent)) {
        pdu what = pdu_ring_pop(&self->sent);

        outstanding_put(&self->inside, self->leg, what.size, what.count);
        pdu_ring_push(ready, what);
    }
}

int64_t bearer_leg_next_timeout(const bearer_leg *self, int64_t now, int more)
{
    if (self->distant != NULL)
        return distant_next_timeout(self->distant, self->leg, &self->inside, now);
    return more ? leg_service_end(self->leg, now) : NEVER;
}

int bearer_leg_is_up(const bearer_leg *self)
{
    if (self->distant != NULL)
        return distant_is_up(self->distant);
    return leg_is_up(self->leg) && self->serves;
}

int64_t bearer_leg_mean_delay(const bearer_leg *self)
{
    return self->distant != NULL ? self->distant->mean_delay : leg_mean_delay(self->leg);
}

int64_t bearer_leg_backlog(const bearer_leg *self, int64_t now)
{
    return self->distant != NULL ? distant_backlog(self->distant, now) : leg_backlog_bytes(self->leg, now);
}

int bearer_leg_has_room(const bearer_leg *self, int64_t now, int size)
{
    return self->distant != NULL ? distant_has_room(self->distant, size) : leg_has_room(self->leg, now, size);
}

int64_t bearer_leg_drain(const bearer_leg *self, int64_t now, int64_t more)
{
    return self->distant != NULL ? distant_drain(self->distant, now, more) : leg_drain_ns(self->leg, now, more);
}

int64_t bearer_leg_credit(const bearer_leg *self)
{
    return self->distant != NULL ? distant_credit(self->distant) : NEVER;
}
