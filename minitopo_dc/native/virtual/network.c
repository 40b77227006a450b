#include "network.h"

/* Packets. */

static void packet_keep(void *shared)
{
    ((packet *)shared)->shares++;
}

void packet_release(void *shared)
{
    packet *self = shared;
    network *of = self->of; /* which its flow need not outlive */

    if (--self->shares)
        return;
    if (self->original != NULL)
        packet_release(self->original);
    self->next = of->unused;
    of->unused = self;
    if (self->token >= 0 && !of->router.closing)
        python_forget(of->handle, self->token);
}

static packet *unused_packet(network *self)
{
    packet *found = self->unused;

    if (found != NULL) {
        self->unused = found->next;
        return found;
    }
    found = resized(NULL, 1, sizeof(*found));
    found->of = self;
    found->made_before = self->made;
    return self->made = found;
}

packet *packet_new(flow *of, int64_t token, int size)
{
    packet *made = unused_packet(of->of);

    made->flow = of;
    made->token = token;
    made->shares = 1;
    made->size = size;
    made->length = 0;
    made->ecn = of->ecn;
    made->original = NULL;
    return made;
}

static int packet_ecn(const void *shared)
{
    return ((const packet *)shared)->ecn;
}

/* Of one that is on other legs, too, a copy is marked, which has this leg's share of it. */
static void *packet_mark(void *shared)
{
    packet *self = shared, *made = self;

    if (self->shares > 1) {
        made = packet_new(self->flow, -1, self->size);
        memcpy(made->data, self->data, (size_t)self->length);
        made->length = self->length;
        made->original = self;
    }
    made->ecn = CE;
    return made;
}

/* Flows. */

static void line_fire(void *owner)
{
    delay_line *self = owner;
    int64_t now = self->of->of->router.now;

    while (held_ring_count(&self->line) && held_ring_at(&self->line, 0)->due <= now) {
        held first = held_ring_pop(&self->line);

        self->take(self->of, &first);
    }
    timer_set(&self->timer, held_ring_count(&self->line) ? held_ring_at(&self->line, 0)->due : NEVER);
}

static void delay_line_begin(delay_line *self, flow *of, void (*take)(flow *of, held *what))
{
    self->of = of;
    self->take = take;
    timer_begin(&self->timer, &of->of->router, line_fire, self);
}

static void delay_line_push(delay_line *self, held what)
{
    held_ring_push(&self->line, what);
    timer_bring_forward(&self->timer, what.due);
}

static void enter(flow *self, held *what)
{
    if (self->bearer != NULL)
        transmit_driver_push(self->bearer, what->what, what->what->size);
    else
        leg_driver_push(self->plain, what->what, -1, what->what->size);
}

static void arrive(flow *self, held *what)
{
    receive_driver *other = self->other;
    int position = receive_driver_position(other, what->leg);

    receive_driver_push(other, what->what, what->what->size, position, what->count, what->count);
}

static void flow_free(void *object)
{
    flow *self = object;

    held_ring_free(&self->in.line);
    held_ring_free(&self->out.line);
    held_ring_free(&self->sent.line);
    held_ring_free(&self->left.line);
    free(self);
}

static void pass_after(flow *self, int64_t delay, delay_line *line, packet *what)
{
    held whole = {self->of->router.now + delay, what, 0, -1};

    if (delay)
        delay_line_push(line, whole);
    else
        line->take(self, &whole);
}

static void reach_router(flow *self, held *what)
{
    pass_after(self, self->bearer != NULL ? self->delay : 0, &self->in, what->what);
}

static void reach_destination(flow *self, held *what)
{
    packet *crossed = what->what;

    if (self->take != NULL) {
        self->take(self->to, crossed);
        return;
    }
    python_deliver(self->of->handle, (crossed->original ? crossed->original : crossed)->token, crossed->ecn);
    packet_release(crossed);
}

flow *network_flow(network *self, int headers, int ecn, transmit_driver *bearer, leg_driver *plain,
                   receive_driver *other, int64_t delay, int64_t before, int64_t after)
{
    flow *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->headers = headers;
    made->ecn = ecn;
    made->delay = delay;
    made->bearer = bearer;
    made->plain = plain;
    made->other = other;
    delay_line_begin(&made->in, made, enter);
    delay_line_begin(&made->out, made, arrive);
    made->wires[0] = before;
    made->wires[1] = after;
    delay_line_begin(&made->sent, made, reach_router);
    delay_line_begin(&made->left, made, reach_destination);
    router_own(&self->router, made, flow_free);
    return made;
}

void flow_take(flow *self, packet *what)
{
    pass_after(self, self->wires[0], &self->sent, what);
}

void flow_enter(flow *self, int64_t token, int size, int ecn)
{
    packet *made = packet_new(self, token, size);

    made->ecn = ecn;
    flow_take(self, made);
}

static void flow_deliver(packet *what)
{
    pass_after(what->flow, what->flow->wires[1], &what->flow->left, what);
}

static void flow_leave(leg_driver *by, carried what)
{
    packet *crossed = what.packet;
    flow *of = crossed->flow;
    held whole = {by->of->now + of->delay, crossed, by->number, what.count};

    if (what.count < 0) {
        flow_deliver(crossed);
        return;
    }
    if (of->delay)
        delay_line_push(&of->out, whole);
    else
        arrive(of, &whole);
}

/* Events. */

static int is_before(const event *a, const event *b)
{
    return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static void events_push(router *of, timer *what)
{
    events *self = &((network *)of)->events;
    event made = {what->at, ++self->number, what};
    size_t index = self->count++;

    if (self->count > self->room) {
        self->room = self->room ? 2 * self->room : 256;
        self->heap = resized(self->heap, self->room, sizeof(event));
    }
    while (index > 0 && is_before(&made, &self->heap[(index - 1) / 2])) {
        self->heap[index] = self->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    self->heap[index] = made;
}

static event pop(events *self)
{
    event first = self->heap[0], moved = self->heap[--self->count];
    size_t index = 0, child;

    while ((child = 2 * index + 1) < self->count) {
        if (child + 1 < self->count && is_before(&self->heap[child + 1], &self->heap[child]))
            child++;
        if (!is_before(&self->heap[child], &moved))
            break;
        self->heap[index] = self->heap[child];
        index = child;
    }
    self->heap[index] = moved;
    return first;
}

void network_run(network *self, int64_t end)
{
    while (self->events.count && !self->stopping && !self->router.failed) {
        event due = pop(&self->events);

        if (due.what->at != due.at)
            continue; /* set to another time since */
        if (due.at > end)
            return;
        self->router.now = due.at;
        due.what->at = NEVER;
        due.what->fire(due.what->owner);
    }
}

int64_t network_now(const network *self)
{
    return self->router.now;
}

void network_stop(network *self, int failed)
{
    self->stopping = 1;
    self->router.failed |= failed;
}

/* The network. */

static void put(transmit_driver *of, pdu what)
{
    leg_driver_push(of->legs[what.leg], what.sdu, what.count, what.size + of->entity->header);
}

static int deliver(void *sdu)
{
    int size = ((packet *)sdu)->size;

    flow_deliver(sdu);
    return size;
}

network *network_new(int64_t now, void *handle)
{
    network *self = zeroed(1, sizeof(*self));

    self->router = (router){.now = now, .packets = {packet_keep, packet_release, packet_ecn, packet_mark}, .wake = events_push,
                            .leave = flow_leave, .put = put, .deliver = deliver};
    self->handle = handle;
    return self;
}

void network_free(network *self)
{
    if (self == NULL)
        return;
    router_free_owned(&self->router);
    while (self->made != NULL) {
        packet *first = self->made;

        self->made = first->made_before;
        free(first);
    }
    free(self->events.heap);
    free(self);
}

/* Timers whose moments Python sets, and that fire in Python. */

struct python_timer {
    void *handle;
    timer timer;
};

static void timer_fire(void *owner)
{
    python_fire(((python_timer *)owner)->handle);
}

python_timer *network_timer(network *self, void *handle)
{
    python_timer *made = zeroed(1, sizeof(*made));

    made->handle = handle;
    timer_begin(&made->timer, &self->router, timer_fire, made);
    router_own(&self->router, made, free);
    return made;
}

void python_timer_set(python_timer *self, int64_t moment)
{
    timer_set(&self->timer, moment);
}

int64_t python_timer_at(const python_timer *self)
{
    return self->timer.at;
}
