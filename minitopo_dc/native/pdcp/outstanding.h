/* PDUs of one bearer in a leg's queue: the twin of Outstanding in pdcp/transmitting/legs.py. */
#ifndef MINITOPO_OUTSTANDING_H
#define MINITOPO_OUTSTANDING_H

#include "../base/arithmetic.h"
#include "../base/memory.h"
#include "../link/leg.h"

typedef struct {
    void *sdu;
    int64_t count;
    int leg, size;
} pdu;

typedef struct {
    int64_t number; /* of the packet in the leg's queue */
    int64_t count;
    int size;
} outstanding;

DEFINE_RING(pdu_ring, pdu)
DEFINE_RING(outstanding_ring, outstanding)

typedef struct {
    outstanding_ring pdus;
    int64_t bytes, gone_bytes; /* of SDUs */
} outstanding_pdus;

void outstanding_put(outstanding_pdus *self, const leg *of, int size, int64_t count);
void outstanding_settle(outstanding_pdus *self, leg *of, int64_t now);
int leg_is_empty(leg *of, int64_t now);
/* Whether a leg that is up will ever serve its queue, or has nothing there. */
int leg_will_serve(leg *of, int64_t now);
/* Bytes that a leg serves in `time` ns at the rate of `now`. */
int64_t leg_bytes_within(leg *of, int64_t now, int64_t time);

#endif
