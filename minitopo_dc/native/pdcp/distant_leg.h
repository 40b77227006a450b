/* A leg behind a backhaul: the twin of pdcp/transmitting/distant_leg.py, flow_control.py and backhaul.py,
 * which have the rules. */
#ifndef MINITOPO_DISTANT_LEG_H
#define MINITOPO_DISTANT_LEG_H

#include "../base/memory.h"
#include "../base/rng.h"
#include "outstanding.h"

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

#endif
