#include "flow.h"

#include "drivers.h"
#include "host.h"

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

static void delay_line_begin(delay_line *self, flow *of, void (*take)(flow *of, held *what))
{
    self->of = of;
    self->take = take;
    timer_begin(&self->timer, &of->of->loop, line_fire, self);
}

static void delay_line_push(delay_line *self, held what)
{
    held_ring_push(&self->line, what);
    timer_bring_forward(&self->timer, what.due);
}

static void enter(flow *self, held *what)
{
    if (self->bearer != NULL)
        transmit_driver_push(self->bearer, what->what);
    else
        leg_driver_push(self->plain, what->what, -1, what->what->size);
}

static void arrive(flow *self, held *what)
{
    receive_driver_push(self->other, what->what, what->leg, what->count);
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

void flow_enter_leg(flow *self, leg_driver *on, int64_t token, int size, int64_t count, int size_on_leg)
{
    leg_driver_push(on, packet_new(self, token, size), count, size_on_leg);
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

void flow_cross(packet *what, int leg, int64_t count)
{
    flow *of = what->flow;
    held whole = {of->of->loop.now + of->delay, what, leg, count};

    if (of->delay)
        delay_line_push(&of->out, whole);
    else
        arrive(of, &whole);
}
