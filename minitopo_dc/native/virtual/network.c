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

static void pass(flow *self, int line, held what)
{
    delay_line *by = &self->lines[line];

    if (!by->delay) {
        by->take(self, &what);
        return;
    }
    what.due = self->of->router.now + by->delay;
    held_ring_push(&by->line, what);
    timer_bring_forward(&by->timer, what.due);
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

    for (int i = 0; i < DELAY_LINES; i++)
        held_ring_free(&self->lines[i].line);
    free(self);
}

static void reach_router(flow *self, held *what)
{
    pass(self, IN, *what);
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
    static void (*const takes[DELAY_LINES])(flow *of, held *what) = {
        [WIRE_IN] = reach_router, [IN] = enter, [OUT] = arrive, [WIRE_OUT] = reach_destination};
    const int64_t delays[DELAY_LINES] = {
        [WIRE_IN] = before, [IN] = bearer != NULL ? delay : 0, [OUT] = delay, [WIRE_OUT] = after};
    flow *made = zeroed(1, sizeof(*made));

    *made = (flow){.of = self, .headers = headers, .ecn = ecn, .bearer = bearer, .plain = plain, .other = other};
    for (int i = 0; i < DELAY_LINES; i++) {
        delay_line *line = &made->lines[i];

        *line = (delay_line){made, takes[i], delays[i], {0}, {NEVER, NULL, &self->router, line_fire, line}};
    }
    router_own(&self->router, made, flow_free);
    return made;
}

void flow_take(flow *self, packet *what)
{
    pass(self, WIRE_IN, (held){.what = what});
}

void flow_enter(flow *self, int64_t token, int size, int ecn)
{
    packet *made = packet_new(self, token, size);

    made->ecn = ecn;
    flow_take(self, made);
}

static void flow_leave(leg_driver *by, carried what)
{
    packet *crossed = what.packet;

    pass(crossed->flow, what.count < 0 ? WIRE_OUT : OUT, (held){0, crossed, by->number, what.count});
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

    pass(((packet *)sdu)->flow, WIRE_OUT, (held){.what = sdu});
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
    router_free_owned(&self->router);
    while (self->made != NULL) {
        packet *first = self->made;

        self->made = first->made_before;
        free(first);
    }
    free(self->events.heap);
    free(self);
}

timer *network_timer(network *self, void *handle)
{
    timer *made = zeroed(1, sizeof(*made));

    *made = (timer){NEVER, NULL, &self->router, python_fire, handle};
    router_own(&self->router, made, free);
    return made;
}
