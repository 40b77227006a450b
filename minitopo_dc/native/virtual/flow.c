#include "network.h"

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
    router_own(&self->router, made, flow_free);
    return made;
}

void flow_take(flow *self, packet *what)
{
    held whole = {self->of->router.now + self->delay, what, 0, -1};

    if (self->delay && self->bearer != NULL)
        delay_line_push(&self->in, whole);
    else
        enter(self, &whole);
}

void flow_enter(flow *self, int64_t token, int size)
{
    flow_take(self, packet_new(self, token, size));
}

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

void flow_leave(leg_driver *by, carried what)
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
