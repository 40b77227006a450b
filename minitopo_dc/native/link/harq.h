/* HARQ of one direction: the twin of link/rlc/harq.py, which has the rules. */
#ifndef MINITOPO_HARQ_H
#define MINITOPO_HARQ_H

#include "sdus.h"

/* A transport block. */
typedef struct {
    segment_ring segments;
    int64_t bits;
    int64_t first; /* when its first transmission began */
    int64_t due;   /* when it may be sent next */
    int64_t unsent, retransmissions;
    double fate; /* a transmission fails where it is below the error probability */
} block;

DEFINE_RING(block_ring, block)

typedef struct {
    leg_counters *counters;
    double error;
    int64_t rtt, limit;
    rng random;
    block_ring waiting; /* in order of `due` */
} harq;

enum { DECODED, AGAIN, GIVEN_UP };

void harq_end(harq *self);
int64_t harq_first_due(const harq *self);
/* Use a slot for what is due; what is sent to its end is in `sent`. The room left, in bits. */
int64_t harq_resend(harq *self, int64_t room, int64_t begin, block_ring *sent);
/* The block takes the segments over. */
block harq_new_block(harq *self, segment_ring segments, int64_t begin);
/* What became of a transmission; AGAIN: HARQ has the block now. */
int harq_outcome(harq *self, block *what, int64_t begin);
/* Forget the blocks that carry nothing any more. */
void harq_purge(harq *self, const sdus *of);

#endif
