/* An end host without CPU time of its own, between its flows and an endpoint of a QUIC stack: the twin of
 * virtual/host.py, and of `End` and `Session.drive` of runners/sans_io. Datagrams go from C to C;
 * Python steps when something is due there, or has happened. */
#include "network.h"

#include "stack.h"

#define BATCH 64 /* datagrams read in one step */
#define NS_PER_US 1000

typedef int receive_function(mdc_endpoint *, const uint8_t *, size_t, int, int, int, uint64_t);
typedef int send_function(mdc_endpoint *, uint64_t);

/* What leaves from `source` (-1: any) to `destination`, by its endpoint's numbers. */
typedef struct {
    int source, destination;
    flow *flow;
} way;

DEFINE_RING(way_ring, way)
DEFINE_RING(waiting_packets, packet *)

struct host {
    host_shown shown; /* the first member */
    network *of;
    void *handle;
    mdc_endpoint *endpoint;
    const mdc_state *state;
    receive_function *receive;
    send_function *send;
    waiting_packets waiting;
    timer timer;
    way_ring sends_on;
};

static flow *flow_to(const host *self, int source, int destination)
{
    for (uint64_t i = 0; i < way_ring_count(&self->sends_on); i++) {
        const way *at = way_ring_at(&self->sends_on, i);

        if (at->source == source && at->destination == destination)
            return at->flow;
    }
    return NULL;
}

void flow_send(flow *self, const uint8_t *data, int length)
{
    packet *made = packet_new(self, -1, length + self->headers);

    memcpy(made->data, data, (size_t)length);
    made->length = length;
    flow_take(self, made);
}

/* Send what the endpoint has left; 0: there is no way for one of the datagrams. */
static int send_left(host *self)
{
    const mdc_state *state = self->state;

    for (size_t i = 0; i < state->datagram_count; i++) {
        const mdc_datagram *each = &state->datagrams[i];
        flow *on = flow_to(self, each->source, each->destination);

        if (on == NULL || each->length > MAX_BYTES)
            return 0;
        flow_send(on, state->output + each->offset, (int)each->length);
    }
    return 1;
}

static int64_t next_timeout(const host *self)
{
    uint64_t wake = self->state->wake;
    int64_t moment = wake >= UINT64_MAX / NS_PER_US ? NEVER : narrow((wide)wake * NS_PER_US);

    return earlier(moment, self->shown.due);
}

/* Read what arrived; whether that is something for Python. */
static int read_waiting(host *self, uint64_t now_us)
{
    int has_events = 0;

    for (int i = 0; i < BATCH && waiting_packets_count(&self->waiting); i++) {
        packet *first = waiting_packets_pop(&self->waiting);
        const flow *by = first->flow;

        if (!self->shown.ended)
            has_events = self->receive(self->endpoint, first->data, (size_t)first->length, by->to_source,
                                       by->to_destination, first->ecn, now_us) > 0;
        packet_release(first);
    }
    return has_events;
}

/* Act on what arrived and on what is due; when to step again. */
static int64_t step(host *self, int64_t now)
{
    uint64_t now_us = (uint64_t)(now / NS_PER_US);
    int has_events = read_waiting(self, now_us), sent;

    if (self->shown.ended)
        return NEVER;
    if (has_events)
        return python_step(self->handle, STEP_EVENTS);
    if (now >= self->shown.due)
        return python_step(self->handle, STEP_DUE);
    sent = self->send(self->endpoint, now_us);
    if (sent < 0)
        return python_step(self->handle, STEP_SEND_FAILED);
    if (!send_left(self))
        return python_step(self->handle, STEP_NO_WAY);
    return sent > 0 ? python_step(self->handle, STEP_EVENTS) : next_timeout(self);
}

static void run(void *owner)
{
    host *self = owner;
    int64_t now = self->of->router.now, moment = step(self, now);

    if (waiting_packets_count(&self->waiting))
        timer_set(&self->timer, now);
    else if (moment != NEVER) /* never the same moment again without a packet: time would stand still */
        timer_set(&self->timer, later(moment, now + NS_PER_US));
}

static void host_free(void *object)
{
    host *self = object;

    waiting_packets_free(&self->waiting);
    way_ring_free(&self->sends_on);
    free(self);
}

host *network_host(network *self, void *handle)
{
    host *made = zeroed(1, sizeof(*made));

    *made = (host){.of = self, .handle = handle};
    made->timer = (timer){NEVER, NULL, &self->router, run, made};
    router_own(&self->router, made, host_free);
    return made;
}

void host_endpoint(host *self, void *endpoint, void *state, void *receive, void *send)
{
    self->endpoint = endpoint;
    self->state = state;
    self->receive = (receive_function *)(uintptr_t)receive;
    self->send = (send_function *)(uintptr_t)send;
}

void host_sends(host *self, flow *of, int source, int destination)
{
    way_ring_push(&self->sends_on, (way){source, destination, of});
}

static void take(host *self, packet *what)
{
    self->shown.received_bytes += what->size;
    waiting_packets_push(&self->waiting, what);
    timer_bring_forward(&self->timer, self->of->router.now);
}

void host_gets(host *self, flow *of, int source, int destination)
{
    of->take = take;
    of->to = self;
    of->to_source = source;
    of->to_destination = destination;
}

void host_wake(host *self, int64_t moment)
{
    timer_bring_forward(&self->timer, later(moment, self->of->router.now));
}
