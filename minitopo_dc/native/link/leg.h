/* One direction of a leg: the twin of link/leg.py, which has the rules. Time is an argument (ns). */
#ifndef MINITOPO_LEG_H
#define MINITOPO_LEG_H

#include "../base/declared.h"
#include "capacity.h"
#include "propagation.h"

typedef struct {
    carried what;
    int size;
    int lost;
    int64_t number;
} queued;

DEFINE_RING(queue_ring, queued)

struct leg {
    packet_hooks hooks;
    capacity *capacity;
    delay_model delay;
    loss_model loss;
    rng delay_random, loss_random;
    int64_t limit_packets, limit_bytes, zero;
    int up, stopped;
    queue_ring queue;
    int64_t queue_bytes;
    propagation air;
    /* The packet in service, the queue's first: when it is through (NEVER: none is in service), its
     * bits still to go when it was last started, its delay to come. */
    int64_t finish, head_bits, head_delay;
    int64_t joined;
    leg_counters counters;
};

/* What became of a packet that was pushed. */
enum { LEG_REFUSED, LEG_LOST, LEG_TAKEN };

typedef int which_fn(void *context, const carried *what);

void leg_begin(leg *self, packet_hooks hooks);
void leg_end(leg *self);
/* LEG_REFUSED: the leg does not have it. LEG_LOST: it has, and will release it. */
int leg_push(leg *self, carried what, int size, int64_t now);
/* The next one that has arrived by `now`; 0: there is none. */
int leg_poll(leg *self, int64_t now, carried *what);
int64_t leg_next_timeout(const leg *self);
/* Take from the queue what `which` says; the taken ones that are not lost are in `flushed`. */
void leg_flush(leg *self, int64_t now, which_fn *which, void *context, queue_ring *flushed);

#endif
