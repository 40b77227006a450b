#include "pdcp.h"

static void outstanding_put(outstanding_pdus *self, const leg *of, int size, int64_t count)
{
    int64_t last = outstanding_ring_count(&self->pdus) ? outstanding_ring_last(&self->pdus)->number : 0;

    last = later(last, of->counters.joined_packets);
    outstanding_ring_push(&self->pdus, (outstanding){last + 1, count, size});
    self->bytes += size;
}

static void remove_bytes(outstanding_pdus *self, int size)
{
    self->bytes -= size;
    self->gone_bytes += size;
}

static void outstanding_settle(outstanding_pdus *self, leg *of, int64_t now)
{
    outstanding_ring *pdus = &self->pdus;
    int64_t joined = of->counters.joined_packets, served;

    while (outstanding_ring_count(pdus) && outstanding_ring_last(pdus)->number > joined)
        remove_bytes(self, outstanding_ring_pop_last(pdus).size);
    served = leg_served_packets(of, now);
    while (outstanding_ring_count(pdus) && outstanding_ring_at(pdus, 0)->number <= served)
        remove_bytes(self, outstanding_ring_pop(pdus).size);
}

static int leg_is_empty(leg *of, int64_t now)
{
    return leg_served_packets(of, now) == of->counters.joined_packets;
}

/* Whether a leg that is up will ever serve its queue, or has nothing there. */
static int leg_will_serve(leg *of, int64_t now)
{
    return leg_service_end(of, now) != NEVER || leg_is_empty(of, now);
}

/* Bytes that a leg serves in `time` ns at the rate of `now`. */
static int64_t leg_bytes_within(leg *of, int64_t now, int64_t time)
{
    return (int64_t)wide_floor_div((wide)leg_rate_bps(of, now) * time, 8 * NS_PER_S);
}

/* A leg behind a backhaul. */

#define FRAME_BYTES 60
#define MIN_BYTES INT64_C(3000)

static distant_leg *distant_new(const flow_control *control, const uint32_t *random, const leg *of, int header)
{
    distant_leg *self = zeroed(1, sizeof(*self));

    self->control = *control;
    rng_set(&self->random, random);
    self->header = header;
    self->due = NEVER;
    self->polled = -1;
    self->mean_delay = leg_mean_delay(of) + control->mean_delay_ns;
    self->status = (delivery_status){.is_up = 1, .desired_bytes = MIN_BYTES};
    return self;
}

static void distant_free(distant_leg *self, const packet_hooks *hooks)
{
    if (self == NULL)
        return;
    while (frame_ring_count(&self->down)) {
        frame last = frame_ring_pop(&self->down);

        if (last.what.size)
            hooks->release(last.what.sdu);
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

    made.is_up = of->up && leg_will_serve(of, now);
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
    return self->status.is_up ? self->status.desired_bps : 0;
}

static int64_t service(int64_t size, int64_t bps)
{
    return narrow(wide_ceil_div((wide)size * 8 * NS_PER_S, bps));
}

static void serve(distant_leg *self, in_flight *what)
{
    int64_t bps = self->status.desired_bps;

    if (bps)
        self->idle = what->end = later(self->idle, what->due) + service(what->size + self->header, bps);
}

/* From when on what is sent is expected to find the node's queue half empty. */
static int64_t room_from(const distant_leg *self)
{
    const flow_control *control = &self->control;
    int64_t delay = control->mean_delay_ns, bps = self->status.desired_bps;
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

static int64_t distant_credit(const distant_leg *self)
{
    return self->status.desired_bytes - self->sent_bytes;
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

static int64_t distant_backlog(const distant_leg *self, int64_t now)
{
    int64_t sent = self->sent_bytes + (int64_t)flight_ring_count(&self->sent) * self->header, bps = rate(self);

    if (!bps)
        return sent;
    return earlier(sent, narrow(wide_floor_div((wide)later(0, self->idle - now) * bps, 8 * NS_PER_S)));
}

static int64_t distant_drain(const distant_leg *self, int64_t now, int64_t more)
{
    int64_t bps = rate(self), delay = self->control.mean_delay_ns;

    if (!bps)
        return NEVER;
    return later(0, self->idle - now - delay) + service(more, bps);
}

static int distant_has_room(const distant_leg *self, int64_t now, int size)
{
    return distant_credit(self) >= earlier(size, MIN_BYTES) && room_from(self) <= now;
}

/* Both ends. */

static void distant_settle(distant_leg *self, leg *of, outstanding_pdus *inside, int64_t now)
{
    outstanding_settle(inside, of, now);
    if (is_due(self, inside, now))
        make_status(self, of, inside, now);
    while (status_ring_count(&self->up) && status_ring_at(&self->up, 0)->arrives <= now)
        take_status(self, status_ring_pop(&self->up), now);
    poll_if_used_up(self, now);
}

/* 0: the backhaul will lose it. */
static int distant_send(distant_leg *self, pdu what, int64_t now)
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

/* Move the PDUs that have arrived into `ready`, to be given to the leg at once. */
static void distant_arrived(distant_leg *self, leg *of, outstanding_pdus *inside, pdu_ring *ready, int64_t now)
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

static int64_t distant_next_timeout(const distant_leg *self, leg *of, const outstanding_pdus *inside, int64_t now,
                                    int more)
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

/* Any leg of a bearer. */

void transmit_behind(transmit *self, int leg, const flow_control *control, const uint32_t *random)
{
    self->access[leg].distant = distant_new(control, random, self->access[leg].leg, self->header);
    self->follows = 1;
}

#define MIN_PACKETS 2

void bearer_leg_end(bearer_leg *self, const packet_hooks *hooks)
{
    distant_free(self->distant, hooks);
    outstanding_ring_free(&self->inside.pdus);
    pdu_ring_free(&self->sent);
}

int64_t bearer_leg_queued(const bearer_leg *self, int64_t *bytes)
{
    *bytes += self->inside.bytes;
    for (uint64_t i = 0; i < pdu_ring_count(&self->sent); i++)
        *bytes += pdu_ring_at(&self->sent, i)->size;
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
    self->serves = !self->leg->up || leg_will_serve(self->leg, now);
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
        return distant_has_room(self->distant, now, size);
    if (!fits(self, now, size))
        return 0;
    if (self->lead == NEVER || outstanding_ring_count(&self->inside.pdus) < MIN_PACKETS)
        return 1;
    return self->inside.bytes < leg_bytes_within(self->leg, now, later(self->lead, self->leg->slot_lead));
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
        return distant_next_timeout(self->distant, self->leg, &self->inside, now, more);
    return more ? leg_service_end(self->leg, now) : NEVER;
}

int bearer_leg_is_up(const bearer_leg *self)
{
    return self->distant != NULL ? self->distant->status.is_up : self->leg->up && self->serves;
}

/* What a policy sees of them. */

int view_takes(transmit *of, int leg, int64_t now, int size)
{
    if (of->waits)
        return bearer_leg_takes(&of->access[leg], now, size);
    return view_has_room(of, leg, now, size);
}

int64_t view_backlog(transmit *of, int leg, int64_t now)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? distant_backlog(at->distant, now) : leg_backlog_bytes(at->leg, now);
}

int view_has_room(transmit *of, int leg, int64_t now, int size)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? distant_has_room(at->distant, now, size) : leg_has_room(at->leg, now, size);
}

int64_t view_drain(const transmit *of, int leg, int64_t now, int64_t more)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? distant_drain(at->distant, now, more) : leg_drain_ns(at->leg, now, more);
}

int64_t view_mean_delay(const transmit *of, int leg)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? at->distant->mean_delay : leg_mean_delay(at->leg);
}

int64_t view_credit(const transmit *of, int leg)
{
    const distant_leg *distant = of->access[leg].distant;

    return distant != NULL ? distant_credit(distant) : NEVER;
}
