#include "router.h"

void router_own(router *self, void *object, void (*release)(void *object))
{
    owned *made = zeroed(1, sizeof(*made));

    *made = (owned){self->objects, release, object};
    self->objects = made;
}

void router_free_owned(router *self)
{
    self->closing = 1;
    while (self->objects != NULL) {
        owned *first = self->objects;

        self->objects = first->next;
        first->free(first->object);
        free(first);
    }
}

void timer_set(timer *self, int64_t moment)
{
    if (moment == self->at)
        return;
    self->at = moment;
    if (moment != NEVER)
        self->of->wake(self->of, self);
}

/* Own a driver and what it drives, and put its timer in line. */
static void begin(router *self, timer *made, void (*fire)(void *owner), void *owner, int first, void *driven,
                  void (*release)(void *driven))
{
    timer **place = &self->timers;

    while (!first && *place != NULL)
        place = &(*place)->next;
    *made = (timer){NEVER, *place, self, fire, owner};
    *place = made;
    router_own(self, driven, release);
    router_own(self, owner, free);
}

/* Legs. */

static void leg_fire(void *owner)
{
    leg_driver *self = owner;
    int64_t now = self->of->now;
    carried what;

    while (!self->of->failed && leg_poll(self->leg, now, &what))
        self->of->leave(self, what);
    leg_driver_rearm(self);
}

leg_driver *router_leg(router *self, leg *of, int number)
{
    leg_driver *made = zeroed(1, sizeof(*made));

    *made = (leg_driver){.of = self, .leg = of, .number = number, .raw = {-1, -1}};
    of->hooks = self->packets;
    begin(self, &made->timer, leg_fire, made, 0, of, leg_free);
    return made;
}

void leg_driver_rearm(leg_driver *self)
{
    timer_set(&self->timer, leg_next_timeout(self->leg));
}

void leg_driver_push(leg_driver *self, void *packet, int64_t number, int size)
{
    carried what = {packet, number};

    if (leg_push(self->leg, &what, size, self->of->now) == LEG_REFUSED)
        self->of->packets.release(what.packet);
    leg_driver_rearm(self);
}

/* Transmitting bearers. */

static void put_on_legs(transmit_driver *self)
{
    pdu next;

    while (transmit_poll(self->entity, &next))
        self->of->put(self, next);
}

/* Put on the legs what they take now. */
static void submit(void *owner)
{
    transmit_driver *self = owner;

    do {
        put_on_legs(self);
        transmit_settle(self->entity, self->of->now);
    } while (pdu_ring_count(&self->entity->ready));
    timer_set(&self->timer, transmit_next_timeout(self->entity));
}

transmit_driver *router_transmit(router *self, transmit *entity, leg_driver **legs, int count)
{
    transmit_driver *made = zeroed(1, sizeof(*made));

    *made = (transmit_driver){.of = self, .entity = entity};
    entity->hooks = self->packets;
    memcpy(made->legs, legs, (size_t)count * sizeof(*legs));
    begin(self, &made->timer, submit, made, 1, entity, transmit_free);
    return made;
}

void transmit_driver_push(transmit_driver *self, void *sdu, int size)
{
    transmit_push(self->entity, sdu, size, self->of->now);
    if (self->entity->follows)
        submit(self);
    else
        put_on_legs(self);
}

void transmit_driver_changed(transmit_driver *self, int64_t now)
{
    self->of->now = now;
    if (self->entity->follows)
        submit(self);
}

/* Receiving bearers. */

static void deliver(void *owner)
{
    receive_driver *self = owner;
    void *sdu;

    while (!self->of->failed && receive_poll(self->entity, self->of->now, &sdu))
        self->entity->counters.delivered_bytes += self->of->deliver(sdu);
    timer_set(&self->timer, receive_next_timeout(self->entity));
}

receive_driver *router_receive(router *self, receive *entity, const int *keys, int count)
{
    receive_driver *made = zeroed(1, sizeof(*made));

    *made = (receive_driver){.of = self, .entity = entity, .legs = count};
    memcpy(made->keys, keys, (size_t)count * sizeof(*keys));
    begin(self, &made->timer, deliver, made, 0, entity, receive_free);
    return made;
}

int receive_driver_position(const receive_driver *self, int key)
{
    for (int position = 0; position < self->legs; position++)
        if (self->keys[position] == key)
            return position;
    return -1;
}

void receive_driver_push(receive_driver *self, void *sdu, int size, int position, int64_t sn, int64_t count)
{
    receive_note(self->entity, sn, size, position);
    if (!receive_push(self->entity, sn, count, sdu, position, self->of->now))
        self->of->packets.release(sdu);
    deliver(self);
}
