/* Virtual time: a queue of events. The twin of virtual/loop.py: timers of the same moment fire in the
 * order in which they were set. */
#ifndef MINITOPO_LOOP_H
#define MINITOPO_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "../base/arithmetic.h"

typedef struct loop loop;
typedef void fire_function(void *owner);

typedef struct {
    loop *of;
    int64_t at; /* NEVER: it is not set */
    fire_function *fire;
    void *owner;
} timer;

typedef struct {
    int64_t at;
    uint64_t number;
    timer *what;
} event;

struct loop {
    int64_t now;
    uint64_t number;
    event *heap;
    size_t count, room;
    int stopping; /* after the current event */
    int failed;   /* at once: something raised in Python */
};

void timer_begin(timer *self, loop *of, fire_function *fire, void *owner);
void timer_set(timer *self, int64_t moment);
void timer_bring_forward(timer *self, int64_t moment);
void loop_end(loop *self);

#endif
