/* Packets, flows, and who owns what. */
#include "network.h"

network *network_new(int64_t now, python_calls calls, void *handle)
{
    network *self = zeroed(1, sizeof(*self));

    self->loop.now = now;
    self->calls = calls;
    self->handle = handle;
    return self;
}

void network_free(network *self)
{
    if (self == NULL)
        return;
    self->closing = 1;
    while (self->objects != NULL) {
        owned *first = self->objects;

        self->objects = first->next;
        first->free(first->object);
        free(first);
    }
    while (self->made != NULL) {
        packet *first = self->made;

        self->made = first->made_before;
        free(first);
    }
    loop_end(&self->loop);
    free(self);
}

loop *network_loop(network *self)
{
    return &self->loop;
}

/* What was made last is freed first. */
void network_own(network *self, void *object, void (*release)(void *object))
{
    owned *made = zeroed(1, sizeof(*made));

    *made = (owned){self->objects, release, object};
    self->objects = made;
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
    return made;
}

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
    self->next = of->unused;
    of->unused = self;
    if (self->token >= 0 && !of->closing)
        of->calls.forget(of->handle, self->token);
}

static packet_hooks hooks(void)
{
    return (packet_hooks){packet_keep, packet_release};
}

/* Flows. */

static void enter(flow *self, held *what)
{
    if (self->bearer != NULL)
        transmit_driver_push(self->bearer, what->what);
    else
        leg_driver_push(self->plain, what->what, -1, what->what->size);
}

static void arrive(flow *self, held *what)
{
    receive_driver_push(self->other, what->what, what->leg, what->sn);
}

static void flow_free(void *object)
{
    flow *self = object;

    held_ring_free(&self->in.line);
    held_ring_free(&self->out.line);
    free(self);
}

flow *network_flow(network *self, int headers, transmit_driver *bearer, leg_driver *plain, receive_driver *other,
                   int64_t delay)
{
    flow *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->headers = headers;
    made->delay = delay;
    made->bearer = bearer;
    made->plain = plain;
    made->other = other;
    delay_line_begin(&made->in, made, enter);
    delay_line_begin(&made->out, made, arrive);
    network_own(self, made, flow_free);
    return made;
}

/* A packet leaves its source. */
void flow_take(flow *self, packet *what)
{
    held whole = {self->of->loop.now + self->delay, what, 0, -1};

    if (self->delay && self->bearer != NULL)
        delay_line_push(&self->in, whole);
    else
        enter(self, &whole);
}

void flow_enter(flow *self, int64_t token, int size)
{
    flow_take(self, packet_new(self, token, size));
}

void flow_enter_leg(flow *self, leg_driver *on, int64_t token, int size, int64_t sn, int size_on_leg)
{
    leg_driver_push(on, packet_new(self, token, size), sn, size_on_leg);
}

/* A packet reached its destination. */
void flow_deliver(packet *what)
{
    flow *of = what->flow;

    if (of->to != NULL) {
        host_receive(of->to, what);
        return;
    }
    of->of->calls.deliver(of->of->handle, what->token);
    packet_release(what);
}

/* A bearer's PDU crossed a leg. */
static void cross(packet *what, int leg, int64_t sn)
{
    flow *of = what->flow;
    held whole = {of->of->loop.now + of->delay, what, leg, sn};

    if (of->delay)
        delay_line_push(&of->out, whole);
    else
        arrive(of, &whole);
}

static void line_fire(void *owner)
{
    delay_line *self = owner;
    int64_t now = self->of->of->loop.now;

    while (held_ring_count(&self->line) && held_ring_at(&self->line, 0)->due <= now) {
        held first = held_ring_pop(&self->line);

        self->take(self->of, &first);
    }
    timer_set(&self->timer, held_ring_count(&self->line) ? held_ring_at(&self->line, 0)->due : NEVER);
}

void delay_line_begin(delay_line *self, flow *of, void (*take)(flow *of, held *what))
{
    self->of = of;
    self->take = take;
    timer_begin(&self->timer, &of->of->loop, line_fire, self);
}

void delay_line_push(delay_line *self, held what)
{
    held_ring_push(&self->line, what);
    timer_bring_forward(&self->timer, what.due);
}

/* Legs. */

static void leg_fire(void *owner)
{
    leg_driver *self = owner;
    int64_t now = self->of->loop.now;
    carried what;

    while (!self->of->loop.failed && leg_poll(self->leg, now, &what)) {
        if (what.sn < 0)
            flow_deliver(what.packet);
        else
            cross(what.packet, self->number, what.sn);
    }
    leg_driver_rearm(self);
}

static void leg_driver_free(void *object)
{
    leg_driver *self = object;

    leg_free(self->leg);
    free(self);
}

leg_driver *network_leg(network *self, leg *of, int number)
{
    leg_driver *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->leg = of;
    made->number = number;
    of->hooks = hooks();
    timer_begin(&made->timer, &self->loop, leg_fire, made);
    network_own(self, made, leg_driver_free);
    return made;
}

/* The leg was changed from outside: find the next moment anew. */
void leg_driver_rearm(leg_driver *self)
{
    timer_set(&self->timer, leg_next_timeout(self->leg));
}

void leg_driver_push(leg_driver *self, packet *what, int64_t sn, int size)
{
    if (leg_push(self->leg, (carried){what, sn}, size, self->of->loop.now) == LEG_REFUSED)
        packet_release(what);
    if (self->timer.at == NEVER) /* else what is under way comes out before this one */
        leg_driver_rearm(self);
}

typedef struct {
    flow **flows;
    int count;
} flows;

static int belongs(void *context, const carried *what)
{
    const flows *wanted = context;

    if (what->sn < 0)
        return 0;
    for (int i = 0; i < wanted->count; i++)
        if (((packet *)what->packet)->flow == wanted->flows[i])
            return 1;
    return 0;
}

int leg_driver_flush(leg_driver *self, flow **of, int count, int64_t *tokens, int64_t *sns, int room)
{
    queue_ring flushed = {NULL, 0, 0, 0};
    flows wanted = {of, count};
    int found = 0;

    leg_flush(self->leg, self->of->loop.now, belongs, &wanted, &flushed);
    for (; queue_ring_count(&flushed); found++) {
        carried what = queue_ring_pop(&flushed).what;

        if (found < room) {
            tokens[found] = ((packet *)what.packet)->token;
            sns[found] = what.sn;
        }
        packet_release(what.packet);
    }
    queue_ring_free(&flushed);
    leg_driver_rearm(self);
    return found;
}

/* Bearers. */

static void put_on_legs(transmit_driver *self)
{
    transmit *entity = self->entity;

    while (pdu_ring_count(&entity->ready)) {
        pdu what = pdu_ring_pop(&entity->ready);

        leg_driver_push(self->legs[what.leg], what.sdu, what.count & entity->mask, what.size + entity->header);
    }
}

/* Put on the legs what they take now. */
static void submit(void *owner)
{
    transmit_driver *self = owner;

    do {
        put_on_legs(self);
        transmit_settle(self->entity, self->of->loop.now);
    } while (pdu_ring_count(&self->entity->ready));
    timer_set(&self->timer, transmit_next_timeout(self->entity));
}

static void transmit_driver_free(void *object)
{
    transmit_driver *self = object;

    transmit_free(self->entity);
    free(self);
}

transmit_driver *network_transmit(network *self, transmit *entity, leg_driver **legs, int count)
{
    transmit_driver *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->entity = entity;
    entity->hooks = hooks();
    memcpy(made->legs, legs, (size_t)count * sizeof(*legs));
    timer_begin(&made->timer, &self->loop, submit, made);
    network_own(self, made, transmit_driver_free);
    return made;
}

void transmit_driver_push(transmit_driver *self, packet *what)
{
    transmit_push(self->entity, what, what->size, self->of->loop.now);
    if (self->entity->late)
        submit(self);
    else
        put_on_legs(self);
}

/* Legs went down or up, or got another rate. */
void transmit_driver_changed(transmit_driver *self)
{
    if (self->entity->late)
        submit(self);
}

static void deliver(void *owner)
{
    receive_driver *self = owner;

    receive_settle(self->entity, self->of->loop.now);
    while (packet_ring_count(&self->entity->ready) && !self->of->loop.failed) {
        packet *what = packet_ring_pop(&self->entity->ready);

        self->delivered_bytes += what->size;
        flow_deliver(what);
    }
    timer_set(&self->timer, receive_next_timeout(self->entity));
}

static void receive_driver_free(void *object)
{
    receive_driver *self = object;

    report_maker_free(self->maker);
    receive_free(self->entity);
    free(self);
}

receive_driver *network_receive(network *self, receive *entity, report_maker *maker)
{
    receive_driver *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->entity = entity;
    made->maker = maker;
    timer_begin(&made->timer, &self->loop, deliver, made);
    network_own(self, made, receive_driver_free);
    return made;
}

/* The bearer's legs by their numbers. */
void receive_driver_position(receive_driver *self, int leg, int position)
{
    self->positions[leg] = position;
}

int64_t receive_driver_bytes(const receive_driver *self)
{
    return self->delivered_bytes;
}

void receive_driver_push(receive_driver *self, packet *what, int leg, int64_t sn)
{
    int position = self->positions[leg];

    if (self->maker != NULL)
        report_maker_push(self->maker, sn, what->size, position);
    if (!receive_push(self->entity, sn, what, position, self->of->loop.now))
        packet_release(what);
    deliver(self);
}

/* Timers of Python's. */

struct python_timer {
    network *of;
    void *handle;
    timer timer;
};

static void python_fire(void *owner)
{
    python_timer *self = owner;

    self->of->calls.fire(self->handle);
}

python_timer *network_timer(network *self, void *handle)
{
    python_timer *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->handle = handle;
    timer_begin(&made->timer, &self->loop, python_fire, made);
    network_own(self, made, free);
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
