/* Queue disciplines, and the packets of a queue: the twin of the package link/queue, which has the rules. */
#ifndef MINITOPO_DISCIPLINE_H
#define MINITOPO_DISCIPLINE_H

#include "propagation.h"

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

/* By the numbers of `DISCIPLINES` in native/models.py. */
enum { STEP, RED, CODEL, PIE, DUALPI2 };

discipline *discipline_new(int kind, const double *numbers, int count, const uint32_t *random);

static inline int congested(const at_queue *packet)
{
    return packet->ecn ? VERDICT_MARK : VERDICT_DROP;
}

static inline int64_t whole(const discipline *self, int number)
{
    return (int64_t)self->numbers[number];
}

extern const discipline_kind step_discipline, red_discipline, codel_discipline, pie_discipline, dualpi2_discipline;

#endif
