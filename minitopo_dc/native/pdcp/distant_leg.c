#include "pdcp.h"

#define FRAME_BYTES 60
#define MIN_BYTES INT64_C(3000)

distant_leg *distant_new(const flow_control *control, const uint32_t *random, const leg *of, int header)
{
    distant_leg *self = zeroed(1, sizeof(*self));

    self->control = *control;
    rng_set(&self->random, random);
    self->header = header;
    self->due = NEVER;
    self->polled = -1;
    self->mean_delay = leg_mean_delay(of) + control->mean_delay_ns;
    return self;
}

void distant_free(distant_leg *self, const packet_hooks *hooks)
{
    if (self == NULL)
        return;
    while (frame_ring_count(&self->down)) {
        frame last = frame_ring_pop(&self->down);

        if (last.what.size)
            release_packet(hooks, last.what.sdu);
    }
    while (status_ring_count(&self->up)) {
        delivery_status last = status_ring_pop(&self->up);

        range_ring_free(&last.lost);
    }
    frame_ring_free(&self->down);
    status_ring_free(&self->up);
    range_ring_free(&self->lost);
    range_ring_free(&self->status.lost);
    flight_ring_free(&self->sent);
    free(self);
}

/* The backhaul. */

/* When a frame arrives that is sent now; NEVER: it will be lost. */
static int64_t cross(distant_leg *self, direction *way, int size, int64_t now)
{
    const flow_control *control = &self->control;
    int64_t at = now;

    if (control->rate_bps != NEVER) {
        wide bits = (wide)(FRAME_BYTES + size) * 8;

        at = way->free = later(now, way->free) + (int64_t)wide_ceil_div(bits * NS_PER_S, control->rate_bps);
    }
    if (control->loss > 0 && rng_random(&self->random) < control->loss)
        return NEVER;
    at += control->delay;
    if (control->jitter)
        at += (int64_t)((double)control->jitter * rng_random(&self->random));
    way->last = later(at, way->last);
    return way->last;
}

static int send_down(distant_leg *self, pdu what, int size, int64_t now)
{
    int64_t arrives = cross(self, &self->to_node, size, now);

    if (arrives == NEVER)
        return 0;
    frame_ring_push(&self->down, (frame){self->number, arrives, what});
    return 1;
}

/* The node. */

/* LegNode._desired_bytes of pdcp/transmitting/flow_control.py. */
static int64_t desired_bytes(const flow_control *control, leg *of, int64_t now)
{
    int64_t desired = leg_bytes_within(of, now, control->desired_ns);

    if (control->fill != NEVER)
        desired = earlier(desired, leg_bytes_within(of, now, control->round_trip_ns) + control->fill);
    return later(desired, MIN_BYTES);
}

static void make_status(distant_leg *self, leg *of, outstanding_pdus *inside, int64_t now)
{
    delivery_status made = {0};

    made.is_up = leg_is_up(of) && leg_will_serve(of, now);
    if (made.is_up)
        made.desired_bytes = desired_bytes(&self->control, of, now);
    made.desired_bps = leg_rate_bps(of, now);
    made.transmitted = outstanding_ring_count(&inside->pdus) ? outstanding_ring_at(&inside->pdus, 0)->count - 1
                                                              : self->received;
    made.lost = self->lost;
    self->lost = (range_ring){NULL, 0, 0, 0};
    self->reported_bytes = inside->gone_bytes;
    made.arrives = cross(self, &self->from_node, 0, now);
    if (made.arrives == NEVER)
        range_ring_free(&made.lost);
    else
        status_ring_push(&self->up, made);
}

static int is_due(distant_leg *self, const outstanding_pdus *inside, int64_t now)
{
    int64_t begin = self->due == NEVER ? now : self->due, interval = self->control.interval;

    if (now >= begin) {
        self->due = begin + interval * ((now - begin) / interval + 1);
        return 1;
    }
    return inside->gone_bytes - self->reported_bytes >= self->control.status_bytes;
}

static void receive_frame(distant_leg *self, leg *of, outstanding_pdus *inside, const frame *what)
{
    if (what->number > self->received + 1)
        range_ring_push(&self->lost, (frame_range){self->received + 1, what->number - 1});
    self->received = what->number;
    if (what->what.size)
        outstanding_put(inside, of, what->what.size, what->number);
}

/* What the other end knows. */

static int64_t rate(const distant_leg *self)
{
    return self->has_status && self->status.is_up ? self->status.desired_bps : 0;
}

static int64_t service(int64_t size, int64_t bps)
{
    return narrow(wide_ceil_div((wide)size * 8 * NS_PER_S, bps));
}

static void serve(distant_leg *self, in_flight *what)
{
    int64_t bps = self->has_status ? self->status.desired_bps : 0;

    if (bps)
        self->idle = what->end = later(self->idle, what->due) + service(what->size + self->header, bps);
}

/* From when on what is sent is expected to find the node's queue half empty. */
static int64_t room_from(const distant_leg *self)
{
    const flow_control *control = &self->control;
    int64_t delay = control->mean_delay_ns, bps = self->has_status ? self->status.desired_bps : 0;
    int64_t moment = 0, packets = control->fill_packets, sent = (int64_t)flight_ring_count(&self->sent);

    if (control->fill_bytes != NEVER && bps)
        moment = self->idle - service(control->fill_bytes, bps) - delay;
    if (sent >= packets)
        moment = later(moment, flight_ring_at(&self->sent, (uint64_t)(sent - packets))->end - delay);
    return moment;
}

static int was_lost(const delivery_status *status, int64_t number)
{
    for (uint64_t i = 0; i < range_ring_count(&status->lost); i++) {
        const frame_range *lost = range_ring_at(&status->lost, i);

        if (lost->first <= number && number <= lost->last)
            return 1;
    }
    return 0;
}

static void take_status(distant_leg *self, delivery_status status, int64_t now)
{
    range_ring_free(&self->status.lost);
    self->status = status;
    self->has_status = 1;
    self->idle = now - self->control.mean_delay_ns;
    for (uint64_t left = flight_ring_count(&self->sent); left; left--) {
        in_flight what = flight_ring_pop(&self->sent);

        if (what.number <= status.transmitted || was_lost(&status, what.number)) {
            self->sent_bytes -= what.size;
            continue;
        }
        serve(self, &what);
        flight_ring_push(&self->sent, what);
    }
}

static void poll_if_used_up(distant_leg *self, int64_t now)
{
    int recent = self->polled >= 0 && now - self->polled < self->control.interval;

    if (distant_credit(self) > 0 || recent)
        return;
    self->polled = now;
    self->number++;
    send_down(self, (pdu){0}, 0, now);
}

int distant_is_up(const distant_leg *self)
{
    return !self->has_status || self->status.is_up;
}

int64_t distant_backlog(const distant_leg *self, int64_t now)
{
    int64_t sent = self->sent_bytes + (int64_t)flight_ring_count(&self->sent) * self->header, bps = rate(self);

    if (!bps)
        return sent;
    return earlier(sent, narrow(wide_floor_div((wide)later(0, self->idle - now) * bps, 8 * NS_PER_S)));
}

int64_t distant_drain(const distant_leg *self, int64_t now, int64_t more)
{
    int64_t bps = rate(self), delay = self->control.mean_delay_ns;

    if (!bps)
        return NEVER;
    return later(0, self->idle - now - delay) + service(more, bps);
}

int64_t distant_credit(const distant_leg *self)
{
    return (self->has_status ? self->status.desired_bytes : MIN_BYTES) - self->sent_bytes;
}

int distant_has_room(const distant_leg *self, int64_t now, int size)
{
    return distant_credit(self) >= earlier(size, MIN_BYTES) && room_from(self) <= now;
}

/* Both ends. */

void distant_settle(distant_leg *self, leg *of, outstanding_pdus *inside, int64_t now)
{
    outstanding_settle(inside, of, now);
    if (is_due(self, inside, now))
        make_status(self, of, inside, now);
    while (status_ring_count(&self->up) && status_ring_at(&self->up, 0)->arrives <= now)
        take_status(self, status_ring_pop(&self->up), now);
    poll_if_used_up(self, now);
}

int distant_send(distant_leg *self, pdu what, int64_t now)
{
    int64_t due = now + self->control.mean_delay_ns;
    in_flight known = {++self->number, due, due, what.size};
    int sent;

    serve(self, &known);
    flight_ring_push(&self->sent, known);
    self->sent_bytes += what.size;
    sent = send_down(self, what, what.size + self->header, now);
    poll_if_used_up(self, now);
    return sent;
}

void distant_arrived(distant_leg *self, leg *of, outstanding_pdus *inside, pdu_ring *ready, int64_t now)
{
    while (frame_ring_count(&self->down) && frame_ring_at(&self->down, 0)->arrives <= now) {
        frame what = frame_ring_pop(&self->down);

        receive_frame(self, of, inside, &what);
        if (what.what.size)
            pdu_ring_push(ready, what.what);
        else
            make_status(self, of, inside, now);
    }
}

int64_t distant_next_timeout(const distant_leg *self, leg *of, const outstanding_pdus *inside, int64_t now, int more)
{
    int64_t moment = self->due, room = more ? room_from(self) : 0;

    if (room > now)
        moment = earlier(moment, room);
    if (frame_ring_count(&self->down))
        moment = earlier(moment, frame_ring_at(&self->down, 0)->arrives);
    if (status_ring_count(&self->up))
        moment = earlier(moment, status_ring_at(&self->up, 0)->arrives);
    if (self->due != NEVER && self->control.status_bytes != NEVER && outstanding_ring_count(&inside->pdus))
        moment = earlier(moment, leg_service_end(of, now));
    return moment;
}
