#include "network.h"

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
    if (self->token >= 0 && !of->router.closing)
        of->calls.forget(of->handle, self->token);
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

network *network_new(int64_t now, python_calls calls, void *handle)
{
    network *self = zeroed(1, sizeof(*self));

    self->router = (router){.now = now, .packets = {packet_keep, packet_release}, .wake = events_push,
                            .leave = flow_leave, .put = put, .deliver = deliver};
    self->calls = calls;
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

leg_driver *network_leg(network *self, leg *of, int number)
{
    leg_driver *made = zeroed(1, sizeof(*made));

    leg_driver_begin(made, &self->router, of, number);
    return made;
}

transmit_driver *network_transmit(network *self, transmit *entity, leg_driver **legs, int count)
{
    transmit_driver *made = zeroed(1, sizeof(*made));

    transmit_driver_begin(made, &self->router, entity, legs, count);
    return made;
}

receive_driver *network_receive(network *self, receive *entity, report_maker *maker, const int *legs, int count)
{
    receive_driver *made = zeroed(1, sizeof(*made));

    receive_driver_begin(made, &self->router, entity, maker, legs, count);
    return made;
}
