/* One direction of a leg, of any kind: the twin of link/any_leg.py, which has the rules. Time is an argument (ns). */
#ifndef MINITOPO_LEG_H
#define MINITOPO_LEG_H

#include "../base/declared.h"
#include "capacity.h"
#include "discipline.h"

typedef int which_fn(void *context, const carried *what);

/* How legs of a kind serve their queues. What is called has been advanced to the same moment, but for `pause`,
 * which does it, and `next_timeout`. */
typedef struct {
    void (*end)(leg *self);
    /* Let all happen that does by `now`. */
    void (*advance)(leg *self, int64_t now);
    /* Take packet number `joined` in; how many are in the queue then, 0: the capacity has ended before it. */
    int64_t (*join)(leg *self, carried what, int size, int lost, int ecn, int64_t now);
    int64_t (*next_timeout)(const leg *self);
    /* Before something changes, and after it. */
    void (*pause)(leg *self, int64_t now);
    void (*resume)(leg *self, int64_t now);
    /* As `leg_flush`. */
    void (*take_out)(leg *self, int64_t now, which_fn *which, void *context, carried_ring *flushed);
    void (*delay_changed)(leg *self);
    int64_t (*backlog_bytes)(leg *self, int64_t now);
    /* The number of the first packet in the queue; 0: it is empty. */
    int64_t (*first)(leg *self);
    int64_t (*service_end)(leg *self);
} leg_kind;

/* What a leg has that serves packet by packet: the twin of link/leg.py. */
typedef struct {
    queue_ring queue;
    /* The packet in service, the queue's first: when it is through (NEVER: none is in service), its
     * bits still to go when it was last started, its delay to come. */
    int64_t finish, head_bits, head_delay;
    int64_t granted; /* from when on it is served */
} plain;

typedef struct rlc rlc;

struct leg {
    const leg_kind *kind;
    packet_hooks hooks;
    capacity *capacity;
    delay_model delay;
    loss_model loss;
    discipline *discipline; /* or NULL: drop-tail */
    rng delay_random, loss_random;
    int64_t limit_packets, limit_bytes, mtu;
    int64_t grant;       /* what a packet waits that finds nothing under way, ns */
    int64_t zero;        /* of the capacity's time */
    int64_t since;       /* it can serve: it was started or went up or down */
    int64_t repetitions; /* their mean delay, ns */
    int64_t news;        /* when something happened that no poll has met */
    int up, stopped;
    propagation air;
    carried_ring dropped; /* of packets promised before */
    int64_t joined;
    leg_counters counters; /* `air_packets`: those between queue and propagation */
    plain plain;
    rlc *rlc; /* or NULL */
};

extern const leg_kind plain_leg;

/* What became of a packet that was pushed. */
enum { LEG_REFUSED, LEG_LOST, LEG_TAKEN };

void leg_begin(leg *self, packet_hooks hooks);
void leg_end(leg *self);
/* LEG_REFUSED: the leg does not have it, and it may be another one, with a mark. LEG_LOST: it has, and will release
 * it. */
int leg_push(leg *self, carried *what, int size, int64_t now);
/* Ask the discipline of a packet that leaves the queue; its code point, -1: it is to be dropped. */
int leg_dequeue(leg *self, carried *what, int size, int ecn, int64_t waited, int64_t now);
/* What was taken does not come out: release it, or tell of it. */
void leg_drop(leg *self, carried what, int lost);
/* The next one that has arrived by `now`; 0: there is none. */
int leg_poll(leg *self, int64_t now, carried *what);
/* The next one that was LEG_TAKEN and will not come; 0: there is none. */
int leg_dropped(leg *self, carried *what);
int64_t leg_next_timeout(const leg *self);
/* Take from the queue what `which` says; the taken ones that are not lost are in `flushed`. */
void leg_flush(leg *self, int64_t now, which_fn *which, void *context, carried_ring *flushed);

#endif
