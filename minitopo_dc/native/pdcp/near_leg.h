/* How much of one bearer a leg takes at a moment: the twin of BearerLeg and Outstanding in
 * pdcp/transmitting/legs.py, which has the rules. */
#ifndef MINITOPO_NEAR_LEG_H
#define MINITOPO_NEAR_LEG_H

#include "../base/memory.h"
#include "../link/leg.h"

typedef struct {
    void *sdu;
    int64_t count;
    int leg, size;
} pdu;

typedef struct {
    int64_t number; /* of the packet in the leg's queue */
    int size;
} outstanding;

DEFINE_RING(pdu_ring, pdu)
DEFINE_RING(outstanding_ring, outstanding)

typedef struct {
    leg *leg;
    int header;
    int64_t lead; /* ns; NEVER: until the queue is full */
    outstanding_ring inside;
    int64_t bytes; /* of the SDUs in `inside` */
    pdu_ring sent; /* to be given to the leg */
    int settled, serves;
} near_leg;

void near_leg_begin(near_leg *self, leg *of, int header, int64_t lead);
void near_leg_end(near_leg *self);
int64_t near_leg_count(const near_leg *self);
void near_leg_settle(near_leg *self, int64_t now);
int near_leg_is_up(const near_leg *self);
int near_leg_takes(near_leg *self, int64_t now, int size);
void near_leg_send(near_leg *self, pdu what);
/* Move what was sent into `ready`, to be given to the leg at once. */
void near_leg_arrived(near_leg *self, pdu_ring *ready);

#endif
