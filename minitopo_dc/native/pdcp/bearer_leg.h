/* One leg as the transmitting entity of a bearer has it: the twin of BearerLeg in pdcp/transmitting/legs.py, which
 * has the rules. */
#ifndef MINITOPO_BEARER_LEG_H
#define MINITOPO_BEARER_LEG_H

#include "distant_leg.h"

typedef struct {
    leg *leg;
    int header;
    int64_t lead; /* ns; NEVER: until the queue is full */
    outstanding_pdus inside;
    pdu_ring sent; /* to be given to the leg */
    int settled, serves;
    distant_leg *distant; /* NULL: there is no backhaul */
} bearer_leg;

void bearer_leg_begin(bearer_leg *self, leg *of, int header, int64_t lead);
void bearer_leg_end(bearer_leg *self, const packet_hooks *hooks);
int64_t bearer_leg_count(const bearer_leg *self);
void bearer_leg_settle(bearer_leg *self, int64_t now);
int bearer_leg_takes(bearer_leg *self, int64_t now, int size);
/* 0: it will not reach the leg. */
int bearer_leg_send(bearer_leg *self, pdu what, int64_t now);
/* Move what reaches the leg into `ready`, to be given to it at once. */
void bearer_leg_arrived(bearer_leg *self, pdu_ring *ready, int64_t now);
/* `more`: more is to be sent. */
int64_t bearer_leg_next_timeout(const bearer_leg *self, int64_t now, int more);

/* What is known of the leg: LegState of pdcp/policies/view.py. */

int bearer_leg_is_up(const bearer_leg *self);
int64_t bearer_leg_mean_delay(const bearer_leg *self);
int64_t bearer_leg_backlog(const bearer_leg *self, int64_t now);
int bearer_leg_has_room(const bearer_leg *self, int64_t now, int size);
int64_t bearer_leg_drain(const bearer_leg *self, int64_t now, int64_t more);
/* NEVER: nobody says. */
int64_t bearer_leg_credit(const bearer_leg *self);

#endif
