/* The transmitting PDCP entity (TS 38.323 clause 5.2.1): the twin of pdcp/transmitting/entity.py, which
 * has the rules, without data recovery, selective duplication and leg failures. */
#ifndef MINITOPO_TRANSMIT_H
#define MINITOPO_TRANSMIT_H

#include "../base/declared.h"
#include "feedback.h"
#include "legs.h"

typedef struct {
    void *sdu;
    int64_t arrived;
    int size;
    int64_t count; /* with early numbering */
} waiting_sdu;

DEFINE_RING(waiting_ring, waiting_sdu)
DEFINE_RING(sdu_ring, void *)

struct transmit {
    packet_hooks hooks;
    int legs, header;
    int waits, early; /* SDUs wait until a leg takes them; those have a number */
    int follows;      /* what its legs do: it waits for them, or they are behind backhauls */
    int failed; /* the policy has: nothing is done any more */
    int64_t mask, next, wake;
    policy *split;
    feedback *heard; /* NULL: no reports */
    leg *states[MAX_LEGS];
    bearer_leg access[MAX_LEGS];
    waiting_ring waiting;
    int64_t buffer_packets, discard, waiting_bytes;
    int64_t mark_above; /* ns that an SDU is expected to wait, NEVER: none is marked */
    int answer[MAX_LEGS], answered; /* the policy's legs, until one of them takes the first SDU */
    pdu_ring ready; /* each PDU has a share of its SDU */
    sdu_ring expired; /* where nobody releases them */
    transmit_counters counters;
};

void transmit_begin(transmit *self, packet_hooks hooks);
void transmit_end(transmit *self);
/* 0: dropped, and released. */
int transmit_push(transmit *self, void *sdu, int size, int64_t now);

#endif
