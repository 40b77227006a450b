#include "leg.h"

#include "../base/arithmetic.h"

void leg_begin(leg *self, packet_hooks hooks)
{
    self->hooks = hooks;
    self->zero = INT64_C(1) << 62; /* a time zero that every clock reading is before */
    self->limit_packets = self->limit_bytes = INT64_MAX;
    self->up = 1;
    self->finish = NEVER;
}

void leg_end(leg *self)
{
    while (queue_ring_count(&self->queue))
        release_packet(&self->hooks, queue_ring_pop(&self->queue).what.packet);
    while (sent_ring_count(&self->air.line))
        release_packet(&self->hooks, sent_ring_pop(&self->air.line).what.packet);
    queue_ring_free(&self->queue);
    sent_ring_free(&self->air.line);
    capacity_free(self->capacity);
    self->capacity = NULL;
}

static queued *head(const leg *self)
{
    return queue_ring_at(&self->queue, 0);
}

static int64_t waiting(const leg *self)
{
    return (int64_t)queue_ring_count(&self->queue);
}

static void serialise(leg *self, int64_t start)
{
    int64_t finish = capacity_finish(self->capacity, start - self->zero, self->head_bits);

    if (finish == NEVER)
        self->stopped = 1;
    else
        self->finish = narrow((wide)finish + self->zero);
}

static void draw_head(leg *self)
{
    self->head_bits = (int64_t)head(self)->size * 8;
    self->head_delay = delay_sample(&self->delay, &self->delay_random);
}

/* The queue has a new first packet. */
static void begin_service(leg *self, int64_t start)
{
    draw_head(self);
    if (self->up)
        serialise(self, start);
}

/* Serialise up to `now`, packet after packet. */
static void advance(leg *self, int64_t now)
{
    while (self->finish <= now) {
        int64_t finish = self->finish;
        queued first = queue_ring_pop(&self->queue);

        self->queue_bytes -= first.size;
        if (first.lost) {
            self->counters.dropped_loss++;
            release_packet(&self->hooks, first.what.packet);
        } else {
            propagation_put(&self->air, finish + self->head_delay, first.size, first.what);
        }
        self->finish = NEVER;
        if (waiting(self))
            begin_service(self, finish);
    }
}

static void pause(leg *self, int64_t now)
{
    advance(self, now);
    if (self->finish != NEVER) {
        self->head_bits = capacity_interrupt(self->capacity, now - self->zero);
        self->finish = NEVER;
    }
    self->stopped = 0;
}

/* Go on with the packet that was interrupted, or the one that came first meanwhile. */
static void resume(leg *self, int64_t now)
{
    if (self->up && waiting(self))
        serialise(self, now);
}

int leg_has_room(leg *self, int64_t now, int64_t size)
{
    advance(self, now);
    return waiting(self) < self->limit_packets && self->queue_bytes <= self->limit_bytes - size;
}

int leg_push(leg *self, carried what, int size, int64_t now)
{
    int lost;

    self->counters.pushed_packets++;
    self->counters.pushed_bytes += size;
    if (!leg_has_room(self, now, size)) {
        self->counters.dropped_queue++;
        return LEG_REFUSED;
    }
    lost = loss_next(&self->loss, &self->loss_random);
    if (self->stopped) { /* also for what is so small that it would still have passed */
        self->counters.dropped_stop++;
        return LEG_REFUSED;
    }
    queue_ring_push(&self->queue, (queued){what, size, lost, self->joined + 1});
    self->queue_bytes += size;
    if (waiting(self) == 1)
        begin_service(self, now);
    if (self->stopped) {
        queue_ring_pop_last(&self->queue);
        self->queue_bytes -= size;
        self->counters.dropped_stop++;
        return LEG_REFUSED;
    }
    self->joined++;
    if (waiting(self) > self->counters.queue_max)
        self->counters.queue_max = waiting(self);
    return lost ? LEG_LOST : LEG_TAKEN;
}

int leg_poll(leg *self, int64_t now, carried *what)
{
    advance(self, now);
    return propagation_take(&self->air, now, what);
}

int64_t leg_next_timeout(const leg *self)
{
    int64_t first = propagation_first(&self->air);

    if (self->finish == NEVER)
        return first;
    if (self->air.overtakes) /* the packet behind the one in service may overtake it */
        return earlier(first, self->finish);
    if (first != NEVER)
        return first;
    return head(self)->lost ? self->finish : self->finish + self->head_delay;
}

void leg_start(leg *self, int64_t now)
{
    pause(self, now);
    self->zero = now;
    resume(self, now);
}

void leg_set_up(leg *self, int up, int64_t now)
{
    if (up == self->up)
        return;
    pause(self, now);
    self->up = up;
    resume(self, now);
}

int leg_is_up(const leg *self)
{
    return self->up;
}

void leg_flush(leg *self, int64_t now, which_fn *which, void *context, queue_ring *flushed)
{
    queue_ring kept = {NULL, 0, 0, 0};
    int64_t first, taken = 0;

    pause(self, now);
    first = waiting(self) ? head(self)->number : 0;
    while (waiting(self)) {
        queued each = queue_ring_pop(&self->queue);

        if (!which(context, &each.what)) {
            queue_ring_push(&kept, each);
            continue;
        }
        taken++;
        self->queue_bytes -= each.size;
        if (each.lost)
            release_packet(&self->hooks, each.what.packet);
        else
            queue_ring_push(flushed, each);
    }
    queue_ring_free(&self->queue);
    self->queue = kept;
    self->counters.dropped_flush += taken;
    if (waiting(self) && head(self)->number != first)
        draw_head(self);
    resume(self, now);
}

/* Serve the rest of the packet in service, and all behind it, by another capacity, which is now the
 * leg's own. */
void leg_set_capacity(leg *self, capacity *made, int64_t now)
{
    pause(self, now);
    capacity_free(self->capacity);
    self->capacity = made;
    resume(self, now);
}

void leg_set_delay(leg *self, int kind, int64_t a, int64_t b, int64_t now)
{
    advance(self, now);
    self->delay = (delay_model){kind, a, b};
    self->head_delay = waiting(self) ? delay_sample(&self->delay, &self->delay_random) : 0;
}

void leg_set_loss(leg *self, int kind, double p, double r, double h, double k, int64_t now)
{
    advance(self, now);
    self->loss = (loss_model){kind, p, r, h, k, 0};
}

int64_t leg_mean_delay(const leg *self)
{
    return delay_mean(&self->delay);
}

int64_t leg_backlog_bytes(leg *self, int64_t now)
{
    int64_t bits;

    advance(self, now);
    if (!waiting(self))
        return 0;
    bits = self->finish == NEVER ? self->head_bits : capacity_left(self->capacity, now - self->zero);
    return self->queue_bytes - head(self)->size - floor_div(-bits, 8);
}

int64_t leg_served_packets(leg *self, int64_t now)
{
    advance(self, now);
    return waiting(self) ? head(self)->number - 1 : self->joined;
}

int64_t leg_joined_packets(const leg *self)
{
    return self->joined;
}

int64_t leg_service_end(leg *self, int64_t now)
{
    advance(self, now);
    return self->finish;
}

int64_t leg_rate_bps(leg *self, int64_t now)
{
    advance(self, now);
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
    found->queue_packets = waiting(self);
    found->queue_bytes = self->queue_bytes;
    found->air_packets = (int64_t)sent_ring_count(&self->air.line);
}
