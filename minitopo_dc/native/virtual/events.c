#include "network.h"

static int is_before(const event *a, const event *b)
{
    return a->at < b->at || (a->at == b->at && a->number < b->number);
}

void events_push(router *of, timer *what)
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

void network_stop(network *self)
{
    self->stopping = 1;
}

void network_fail(network *self)
{
    self->router.failed = 1;
}

/* Timers whose moments Python sets, and that fire in Python. */

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
    timer_begin(&made->timer, &self->router, python_fire, made);
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
