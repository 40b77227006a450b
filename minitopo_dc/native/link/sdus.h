/* SDUs of a leg with RLC, from joining the queue until they arrive or are dropped: the twin of link/rlc/sdus.py. */
#ifndef MINITOPO_SDUS_H
#define MINITOPO_SDUS_H

#include "leg.h"

typedef struct {
    carried what;
    int64_t number, size, pushed;
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

/* What RLC sends again, from `due` on. */
typedef struct {
    int64_t due;
    rlc_segment what;
} retransmission;

DEFINE_RING(rlc_sdu_ring, rlc_sdu)
DEFINE_RING(segment_ring, rlc_segment)
DEFINE_RING(retransmission_ring, retransmission)

/* The numbers are of SDUs that may have left the queue since, but none before them is in it. */
typedef struct {
    leg *of;
    int in_order;
    rlc_sdu_ring active; /* in order of joining, without gaps: those neither delivered nor dropped, and some that are */
    int64_t front;       /* the number of the first active one */
    int64_t first;       /* of the first in the queue */
    int64_t whole;       /* of the first of which nothing was sent */
    retransmission_ring again; /* in order of time */
    int64_t again_bits;
} sdus;

void sdus_begin(sdus *self, leg *of, int in_order);
void sdus_end(sdus *self);
/* The number behind the last active one's. */
int64_t sdus_end_number(const sdus *self);
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

void sdus_put_again(sdus *self, int64_t due, rlc_segment what);
int64_t sdus_again_due(const sdus *self);
/* The next segment that is due at `begin`, cut to `room` bits; 0: there is none. */
int sdus_take_again(sdus *self, int64_t room, int64_t begin, rlc_segment *what);
/* Drop the segments of SDUs that are gone. */
void sdus_purge_again(sdus *self);

#endif
