/* The legs of a bearer's transmitting entity: the twins of pdcp/transmitting/legs.py, distant_leg.py
 * and flow_control.py, which have the rules. */
#ifndef MINITOPO_LEGS_H
#define MINITOPO_LEGS_H

#include "../base/arithmetic.h"
#include "../base/memory.h"
#include "../base/rng.h"
#include "../link/leg.h"

/* PDUs of one bearer in a leg's queue. */

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

/* A leg behind a backhaul. */

typedef struct {
    int64_t number, arrives;
    pdu what; /* of size 0: a poll */
} frame;

typedef struct {
    int64_t first, last;
} frame_range;

DEFINE_RING(range_ring, frame_range)

typedef struct {
    int64_t arrives, desired_bytes, desired_bps, transmitted;
    int is_up;
    range_ring lost; /* who takes the status frees them */
} delivery_status;

typedef struct {
    int64_t number, due;
    int size;
} in_flight;

DEFINE_RING(frame_ring, frame)
DEFINE_RING(status_ring, delivery_status)
DEFINE_RING(flight_ring, in_flight)

/* When a direction of the backhaul is free, and when its latest frame arrives. */
typedef struct {
    int64_t free, last;
} direction;

typedef struct {
    flow_control control;
    rng random;
    int header;
    direction to_node, from_node;
    frame_ring down;
    status_ring up;
    /* The node. */
    int64_t due; /* of the next periodic status; NEVER: none was made */
    int64_t reported_bytes, received;
    range_ring lost;
    /* What the other end knows. */
    int64_t number, polled; /* polled: when, -1: never */
    int has_status;
    delivery_status status;
    flight_ring sent;
    int64_t sent_bytes, idle, mean_delay;
} distant_leg;

distant_leg *distant_new(const flow_control *control, const uint32_t *random, const leg *of, int header);
void distant_free(distant_leg *self, const packet_hooks *hooks);
void distant_settle(distant_leg *self, leg *of, outstanding_pdus *inside, int64_t now);
/* 0: the backhaul will lose it. */
int distant_send(distant_leg *self, pdu what, int64_t now);
/* Move the PDUs that have arrived into `ready`, to be given to the leg at once. */
void distant_arrived(distant_leg *self, leg *of, outstanding_pdus *inside, pdu_ring *ready, int64_t now);
int64_t distant_next_timeout(const distant_leg *self, leg *of, const outstanding_pdus *inside, int64_t now);

int distant_is_up(const distant_leg *self);
int64_t distant_backlog(const distant_leg *self, int64_t now);
int64_t distant_drain(const distant_leg *self, int64_t now, int64_t more);
int64_t distant_credit(const distant_leg *self);
int distant_has_room(const distant_leg *self, int size);

/* One leg as the transmitting entity of a bearer has it. */

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
