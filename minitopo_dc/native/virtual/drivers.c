#include "drivers.h"

#include "flow.h"

/* Legs. */

static void leg_fire(void *owner)
{
    leg_driver *self = owner;
    int64_t now = self->of->loop.now;
    carried what;

    while (!self->of->loop.failed && leg_poll(self->leg, now, &what)) {
        if (what.count < 0)
            flow_deliver(what.packet);
        else
            flow_cross(what.packet, self->number, what.count);
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
    of->hooks = packet_sharing();
    timer_begin(&made->timer, &self->loop, leg_fire, made);
    network_own(self, made, leg_driver_free);
    return made;
}

/* The leg was changed from outside: find the next moment anew. */
void leg_driver_rearm(leg_driver *self)
{
    timer_set(&self->timer, leg_next_timeout(self->leg));
}

void leg_driver_push(leg_driver *self, packet *what, int64_t count, int size)
{
    if (leg_push(self->leg, (carried){what, count}, size, self->of->loop.now) == LEG_REFUSED)
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

    if (what->count < 0)
        return 0;
    for (int i = 0; i < wanted->count; i++)
        if (((packet *)what->packet)->flow == wanted->flows[i])
            return 1;
    return 0;
}

int leg_driver_flush(leg_driver *self, flow **of, int count, int64_t *tokens, int64_t *counts, int room)
{
    queue_ring flushed = {NULL, 0, 0, 0};
    flows wanted = {of, count};
    int found = 0;

    leg_flush(self->leg, self->of->loop.now, belongs, &wanted, &flushed);
    for (; queue_ring_count(&flushed); found++) {
        carried what = queue_ring_pop(&flushed).what;

        if (found < room) {
            tokens[found] = ((packet *)what.packet)->token;
            counts[found] = what.count;
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

        leg_driver_push(self->legs[what.leg], what.sdu, what.count, what.size + entity->header);
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
    entity->hooks = packet_sharing();
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

void receive_driver_push(receive_driver *self, packet *what, int leg, int64_t count)
{
    int position = self->positions[leg];

    if (self->maker != NULL)
        report_maker_push(self->maker, count, what->size, position);
    if (!receive_push(self->entity, count, count, what, position, self->of->loop.now))
        packet_release(what);
    deliver(self);
}
