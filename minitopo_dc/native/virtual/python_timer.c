/* Timers whose moments Python sets, and that fire in Python. */
#include "network.h"

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
