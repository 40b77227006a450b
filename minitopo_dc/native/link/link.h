/* One direction of a leg. Time is an argument (ns); NEVER stands for Python's None. */
#ifndef MINITOPO_LINK_H
#define MINITOPO_LINK_H

#include "../base/base.h"

/* How fast a leg serialises: the twin of link/capacity.py, which has the rules. Times are ns
 * relative to the capacity's own zero; NEVER stands for Python's None. */

enum { AFTER_LOOP, AFTER_HOLD, AFTER_STOP };

void capacity_free(capacity *self);

int64_t capacity_finish(capacity *self, int64_t start, int64_t bits);
int64_t capacity_left(const capacity *self, int64_t now);
int64_t capacity_interrupt(capacity *self, int64_t now);
int64_t capacity_first_bit(const capacity *self, int64_t start);
wide capacity_bits_until(const capacity *self, int64_t time);
int64_t capacity_rate_at(const capacity *self, int64_t time);

/* What is behind a leg's serialisation: the delay with its jitter, random loss, and packets in propagation,
 * which are serialised and have not arrived. The twin of link/propagation.py: packets
 * keep their order, or (`overtakes`) each arrives at its own time as with netem, equal times in order. */

enum { DELAY_CONSTANT, DELAY_NORMAL, DELAY_UNIFORM };

typedef struct {
    int kind;
    int64_t a; /* ns: the delay, the mean, or the lower limit */
    int64_t b; /* ns: unused, the standard deviation, or the upper limit */
} delay_model;

enum { LOSS_NONE, LOSS_BERNOULLI, LOSS_GILBERT_ELLIOTT };

typedef struct {
    int kind;
    double p, r, h, k; /* as GilbertElliott has them; Bernoulli has p alone */
    int bad;
} loss_model;

int64_t delay_sample(const delay_model *model, rng *random);
int64_t delay_mean(const delay_model *model);
int loss_next(loss_model *model, rng *random);

typedef struct {
    int64_t arrival;
    int size;
    carried what;
} sent;

DEFINE_RING(sent_ring, sent)

typedef struct {
    int overtakes;
    sent_ring line; /* with `overtakes` in order of arrival, else as they were sent */
    int64_t taken_packets, taken_bytes;
} propagation;

void propagation_put(propagation *self, int64_t arrival, int size, carried what);
/* When the next one arrives; NEVER: none is under way. */
int64_t propagation_first(const propagation *self);
/* The next one if it has arrived by `now`. */
int propagation_take(propagation *self, int64_t now, carried *what);

/* Queue disciplines, and the packets of a queue: the twins of link/discipline.py, codel.py and pie.py, which have the
 * rules. */

enum { NOT_ECT, ECT_1, ECT_0, CE };
enum { VERDICT_PASS, VERDICT_MARK, VERDICT_DROP };

typedef struct {
    carried what;
    int size;
    short lost, ecn;
    int64_t number, pushed;
} queued;

DEFINE_RING(queue_ring, queued)

/* A packet that joins the queue or is about to leave it; the queue is told of without it. */
typedef struct {
    int size, ecn;
    int64_t waited, queue_packets, queue_bytes;
} at_queue;

typedef struct discipline discipline;

/* The functions may be NULL: every packet passes, and the first one is next. */
typedef struct {
    int (*enqueue)(discipline *self, const at_queue *packet, int64_t now);
    int (*dequeue)(discipline *self, const at_queue *packet, int64_t now);
    uint64_t (*choose)(discipline *self, const queue_ring *queue, int64_t now);
} discipline_kind;

#define MAX_NUMBERS 5

struct discipline {
    const discipline_kind *kind;
    rng random;
    double numbers[MAX_NUMBERS]; /* of the twin */
    union {
        struct {
            double average;
            int64_t count, idle_since;
        } red;
        struct {
            int64_t first_above, drop_next, count, last_count;
            int dropping, before;
        } codel;
        struct {
            double probability, sum;
            int64_t delay, delay_before, burst, update;
        } pie;
        struct {
            double probability, sums[2];
            int64_t delay_before, update, behind;
            int turn;
        } dual;
    };
};

/* By the numbers of `DISCIPLINES` in native/leg.py. */
enum { STEP, RED, CODEL, PIE, DUALPI2 };

static inline int congested(const at_queue *packet)
{
    return packet->ecn ? VERDICT_MARK : VERDICT_DROP;
}

static inline int64_t whole(const discipline *self, int number)
{
    return (int64_t)self->numbers[number];
}

extern const discipline_kind step_discipline, red_discipline, codel_discipline, pie_discipline, dualpi2_discipline;

/* One direction of a leg, of any kind: the twin of link/any_leg.py, which has the rules. Time is an argument (ns).
 * It is never flushed, as only data recovery does that, which the core in Python alone has. */

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
    void (*delay_changed)(leg *self); /* or NULL */
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
    packet_hooks hooks; /* the first member */
    const leg_kind *kind;
    capacity *capacity;
    delay_model delay;
    loss_model loss;
    discipline *discipline; /* or NULL: drop-tail */
    rng delay_random, loss_random;
    leg_parameters is;
    int64_t slot_lead;   /* in what time the mean rate passes two slots, ns; 0: there are none */
    int64_t zero;        /* of the capacity's time */
    int64_t since;       /* it can serve: it was started or went up or down */
    int64_t repetitions; /* their mean delay, ns */
    int64_t news;        /* when something happened that no poll has met */
    int up, stopped;
    propagation air;
    int64_t dropped; /* of packets promised before, since the last poll */
    leg_counters counters; /* `air_packets`: those between queue and propagation */
    plain plain;
    rlc *rlc; /* or NULL */
};

extern const leg_kind plain_leg;

/* Ask the discipline of a packet that leaves the queue; its code point, -1: it is to be dropped. */
int leg_dequeue(leg *self, carried *what, int size, int ecn, int64_t waited, int64_t now);
/* What was taken does not come out: release it, and let a poll be due. */
void leg_drop(leg *self, carried what, int lost);

/* SDUs of a leg with RLC, from joining the queue until they arrive or are dropped: the twin of link/rlc/sdus.py. */

typedef struct {
    carried what;
    int64_t number, size, pushed;
    int64_t bits;    /* of the packet and its headers */
    int64_t unsent;  /* bits that no block has carried yet */
    int64_t missing; /* bits that the receiver does not have yet */
    int64_t retransmitted;
    int64_t failure; /* the latest one of HARQ that it had a part in */
    int lost, ecn, complete, gone;
} rlc_sdu;

/* Some bits of an SDU. */
typedef struct {
    int64_t number, bits;
} rlc_segment;

/* What RLC sends again, from `due` on; NEVER: the receiver does not miss it yet. */
typedef struct {
    int64_t due;
    int64_t first; /* when its block was sent first */
    rlc_segment what;
} retransmission;

DEFINE_RING(rlc_sdu_ring, rlc_sdu)
DEFINE_RING(segment_ring, rlc_segment)
DEFINE_RING(retransmission_ring, retransmission)

/* The numbers are of SDUs that may have left the queue since, but none before them is in it. */
typedef struct {
    leg *of;
    int in_order;
    int64_t header_bytes; /* of each */
    rlc_sdu_ring active; /* in order of joining, without gaps: those neither delivered nor dropped, and some that are */
    int64_t front;       /* the number of the first active one */
    int64_t first;       /* of the first in the queue */
    int64_t whole;       /* of the first of which nothing was sent */
    retransmission_ring again; /* in order of time */
    int64_t again_bits;
} sdus;

void sdus_end(sdus *self);
/* NULL: it is gone. */
rlc_sdu *sdus_active(const sdus *self, int64_t number);

void sdus_join(sdus *self, rlc_sdu made);
void sdus_take_back(sdus *self);
/* The first in the queue, and the first in it of which nothing was sent; NULL: there is none. */
rlc_sdu *sdus_first(sdus *self);
rlc_sdu *sdus_first_whole(sdus *self);
void sdus_send(sdus *self, rlc_sdu *what, int64_t bits);
int64_t sdus_unsent_bits(sdus *self);

void sdus_give_up(sdus *self, rlc_sdu *what);
/* The receiver has a block that was decoded. */
void sdus_receive(sdus *self, const segment_ring *segments, int64_t now);
/* Remove from the front what is complete or gone; in order, this delivers it. */
void sdus_release(sdus *self, int64_t now);

void sdus_put_again(sdus *self, retransmission what);
/* When the next segment may be sent again. */
int64_t sdus_again_due(const sdus *self);
/* Whether the receiver does not miss some segment yet. */
int sdus_has_unmissed(const sdus *self);
/* Let what was sent before a moment be sent again from `due` on. */
void sdus_miss(sdus *self, int64_t before, int64_t due);
/* The next segment that is due at `begin`, cut to `room` bits; 0: there is none. */
int sdus_take_again(sdus *self, int64_t room, int64_t begin, rlc_segment *what);
/* Drop the segments of SDUs that are gone. */
void sdus_purge_again(sdus *self);

#endif
