#include "link.h"

leg *leg_new(const leg_parameters *is, const uint32_t *delay_random, const uint32_t *loss_random)
{
    leg *self = zeroed(1, sizeof(*self));

    self->kind = &plain_leg;
    self->zero = INT64_C(1) << 62; /* a time zero that every clock reading is before */
    self->since = self->plain.granted = INT64_MIN;
    self->is = *is;
    self->up = 1;
    self->news = self->plain.finish = NEVER;
    self->air.overtakes = is->reorder;
    rng_set(&self->delay_random, delay_random);
    rng_set(&self->loss_random, loss_random);
    return self;
}

void leg_free(void *made)
{
    leg *self = made;

    self->kind->end(self);
    while (sent_ring_count(&self->air.line))
        self->hooks.release(sent_ring_pop(&self->air.line).what.packet);
    sent_ring_free(&self->air.line);
    capacity_free(self->capacity);
    free(self->discipline);
    free(self);
}

int leg_has_room(leg *self, int64_t now, int64_t size)
{
    const leg_counters *in = &self->counters;

    self->kind->advance(self, now);
    return in->queue_packets < self->is.queue.packets && in->queue_bytes <= self->is.queue.bytes - size;
}

/* The packet's code point then; -1: it is to be dropped. */
static int apply(leg *self, int verdict, carried *what, int ecn)
{
    switch (verdict) {
    case VERDICT_DROP:
        self->counters.dropped_early++;
        return -1;
    case VERDICT_MARK:
        self->counters.marked_packets++;
        what->packet = self->hooks.mark(what->packet);
        return CE;
    default:
        return ecn;
    }
}

static int enqueue(leg *self, carried *what, int size, int64_t now)
{
    leg_counters *in = &self->counters;
    int ecn = self->hooks.ecn(what->packet);
    at_queue packet = {size, ecn, 0, in->queue_packets, in->queue_bytes};

    in->ect0_packets += ecn == ECT_0;
    in->ect1_packets += ecn == ECT_1;
    in->ce_packets += ecn == CE;
    if (self->discipline->kind->enqueue == NULL)
        return ecn;
    return apply(self, self->discipline->kind->enqueue(self->discipline, &packet, now), what, ecn);
}

int leg_dequeue(leg *self, carried *what, int size, int ecn, int64_t waited, int64_t now)
{
    const leg_counters *in = &self->counters;
    at_queue packet = {size, ecn, waited, in->queue_packets - 1, in->queue_bytes - size};

    return apply(self, self->discipline->kind->dequeue(self->discipline, &packet, now), what, ecn);
}

void leg_drop(leg *self, carried what, int lost)
{
    self->hooks.release(what.packet);
    self->dropped += !lost;
}

int leg_push(leg *self, carried *what, int size, int64_t now)
{
    int64_t waiting;
    int lost, ecn = 0;

    self->counters.pushed_packets++;
    self->counters.pushed_bytes += size;
    if (size > self->is.mtu_bytes) {
        self->counters.dropped_mtu++;
        return LEG_REFUSED;
    }
    if (!leg_has_room(self, now, size)) {
        self->counters.dropped_queue++;
        return LEG_REFUSED;
    }
    if (self->discipline != NULL && (ecn = enqueue(self, what, size, now)) < 0)
        return LEG_REFUSED;
    lost = loss_next(&self->loss, &self->loss_random);
    self->counters.joined_packets++;
    waiting = self->kind->join(self, *what, size, lost, ecn, now);
    if (!waiting) {
        self->counters.joined_packets--;
        self->counters.dropped_stop++;
        return LEG_REFUSED;
    }
    self->counters.queue_max_packets = later(self->counters.queue_max_packets, waiting);
    return lost ? LEG_LOST : LEG_TAKEN;
}

int leg_poll(leg *self, int64_t now, carried *what)
{
    self->kind->advance(self, now);
    self->news = NEVER;
    self->dropped = 0;
    return propagation_take(&self->air, now, what);
}

int64_t leg_next_timeout(const leg *self)
{
    return self->news != NEVER ? self->news : self->kind->next_timeout(self);
}

void leg_start(leg *self, int64_t now)
{
    self->kind->pause(self, now);
    self->zero = self->since = now;
    self->kind->resume(self, now);
}

void leg_set_up(leg *self, int up, int64_t now)
{
    if (up == self->up)
        return;
    self->kind->pause(self, now);
    self->up = up;
    self->since = now;
    self->kind->resume(self, now);
}

/* Serve the rest of the packet in service, and all behind it, by another capacity, which is now the
 * leg's own. */
void leg_set_capacity(leg *self, capacity *made, int64_t now)
{
    self->kind->pause(self, now);
    capacity_free(self->capacity);
    self->capacity = made;
    self->kind->resume(self, now);
}

void leg_set_delay(leg *self, int kind, int64_t a, int64_t b, int64_t now)
{
    self->kind->advance(self, now);
    self->delay = (delay_model){kind, a, b};
    if (self->kind->delay_changed != NULL)
        self->kind->delay_changed(self);
}

void leg_set_loss(leg *self, int kind, double p, double r, double h, double k, int64_t now)
{
    self->kind->advance(self, now);
    self->loss = (loss_model){kind, p, r, h, k, 0};
}

int64_t leg_mean_delay(const leg *self)
{
    return delay_mean(&self->delay) + self->repetitions;
}

int64_t leg_backlog_bytes(leg *self, int64_t now)
{
    self->kind->advance(self, now);
    return self->kind->backlog_bytes(self, now);
}

int64_t leg_served_packets(leg *self, int64_t now)
{
    int64_t first;

    self->kind->advance(self, now);
    first = self->kind->first(self);
    return first ? first - 1 : self->counters.joined_packets;
}

int64_t leg_service_end(leg *self, int64_t now)
{
    self->kind->advance(self, now);
    return self->kind->service_end(self);
}

int64_t leg_rate_bps(leg *self, int64_t now)
{
    self->kind->advance(self, now);
    return self->up && !self->stopped ? capacity_rate_at(self->capacity, now - self->zero) : 0;
}

/* NEVER: no time is known. */
int64_t leg_drain_ns(leg *self, int64_t now, int64_t more)
{
    int64_t rate = leg_rate_bps(self, now);

    if (rate == 0)
        return NEVER;
    return narrow(wide_ceil_div(((wide)leg_backlog_bytes(self, now) + more) * 8 * NS_PER_S, rate));
}

void leg_count(const leg *self, leg_counters *found)
{
    *found = self->counters;
    found->delivered_packets = self->air.taken_packets;
    found->delivered_bytes = self->air.taken_bytes;
    found->air_packets += (int64_t)sent_ring_count(&self->air.line);
}
