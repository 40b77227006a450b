#include "loop.h"

#include "../base/declared.h"
#include "../base/memory.h"

void timer_begin(timer *self, loop *of, fire_function *fire, void *owner)
{
    *self = (timer){of, NEVER, fire, owner};
}

static int is_before(const event *a, const event *b)
{
    return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static void push(loop *self, event made)
{
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

static event pop(loop *self)
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

void timer_set(timer *self, int64_t moment)
{
    if (moment == self->at)
        return;
    self->at = moment;
    if (moment != NEVER)
        push(self->of, (event){moment, ++self->of->number, self});
}

void timer_bring_forward(timer *self, int64_t moment)
{
    if (moment < self->at)
        timer_set(self, moment);
}

/* Fire what is due until it is stopped, until `end`, or until nothing is left to do. */
void loop_run(loop *self, int64_t end)
{
    while (self->count && !self->stopping && !self->failed) {
        event due = pop(self);

        if (due.what->at != due.at)
            continue; /* set to another time since */
        if (due.at > end)
            return;
        self->now = due.at;
        due.what->at = NEVER;
        due.what->fire(due.what->owner);
    }
}

int64_t loop_now(const loop *self)
{
    return self->now;
}

void loop_stop(loop *self)
{
    self->stopping = 1;
}

void loop_fail(loop *self)
{
    self->failed = 1;
}

void loop_end(loop *self)
{
    free(self->heap);
}
