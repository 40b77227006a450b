/* The two entities of PDCP, the legs of a transmitting one, and its split policies. */
#ifndef MINITOPO_PDCP_H
#define MINITOPO_PDCP_H

#include "../link/link.h"

/* What a transmitting entity makes of the receiver's reports: the twin of pdcp/transmitting/feedback.py. */

DEFINE_RING(count_ring, int64_t)

typedef struct {
    int64_t next_count, covered;
    count_ring waiting;
} sent_counts;

typedef struct {
    int64_t number; /* 0: there is no report */
    sent_counts sent[MAX_LEGS];
    leg_report reports[MAX_LEGS];
} feedback;

/* The legs of a bearer's transmitting entity: the twins of pdcp/transmitting/legs.py, distant_leg.py
 * and flow_control.py, which have the rules. */

/* PDUs of one bearer in a leg's queue. */

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
    int64_t number, due, end; /* when it is at the node, and served there */
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
    delivery_status status; /* the latest one */
    flight_ring sent;
    int64_t sent_bytes, idle, mean_delay;
} distant_leg;

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

void bearer_leg_end(bearer_leg *self, const packet_hooks *hooks);
/* SDUs in its queue, or given to it, and their bytes: not what is on a backhaul. */
int64_t bearer_leg_queued(const bearer_leg *self, int64_t *bytes);
void bearer_leg_settle(bearer_leg *self, int64_t now);
int bearer_leg_takes(bearer_leg *self, int64_t now, int size);
/* 0: it will not reach the leg. */
int bearer_leg_send(bearer_leg *self, pdu what, int64_t now);
/* Move what reaches the leg into `ready`, to be given to it at once. */
void bearer_leg_arrived(bearer_leg *self, pdu_ring *ready, int64_t now);
/* `more`: more is to be sent. */
int64_t bearer_leg_next_timeout(const bearer_leg *self, int64_t now, int more);
int bearer_leg_is_up(const bearer_leg *self);

/* The transmitting PDCP entity (TS 38.323 clause 5.2.1): the twin of pdcp/transmitting/entity.py, which
 * has the rules, without data recovery, selective duplication and leg failures. */

struct transmit {
    packet_hooks hooks; /* the first member */
    int legs, header;
    int waits, early; /* SDUs wait until a leg takes them; those have a number */
    int follows;      /* what its legs do: it waits for them, or they are behind backhauls */
    int failed; /* the policy has: nothing is done any more */
    int64_t mask, next, wake;
    policy *split;
    int reports; /* come */
    feedback heard;
    bearer_leg access[MAX_LEGS];
    pdu_ring waiting; /* with numbers if `early` */
    sdu_buffer buffer;
    int64_t waiting_bytes;
    int64_t reached; /* PDUs that have come to their legs */
    int64_t mark_above; /* ns that an SDU is expected to wait, NEVER: none is marked */
    int answer[MAX_LEGS], answered; /* the policy's legs, until one of them takes the first SDU */
    pdu_ring ready; /* each PDU has a share of its SDU */
    transmit_counters counters;
};

/* Split policies: which legs a PDU takes, and what they see of the legs (LegView of pdcp/policies/view.py).
 * Twins of pdcp/policies, which have the rules. */

/* Time until an SDU is expected at the leg's end; NEVER: none is known. */
static inline int64_t view_expected(const transmit *of, int leg, int64_t now, int64_t size)
{
    int64_t drain = view_drain(of, leg, now, size);

    return drain == NEVER ? NEVER : drain + view_mean_delay(of, leg);
}

/* Split policy `proportional`. */

typedef struct {
    int legs, has_report;
    double time_constant, floor;
    int64_t at, delivered[MAX_LEGS];
    double rates[MAX_LEGS]; /* bytes per ns */
    int idle[MAX_LEGS], stood[MAX_LEGS];
    double shares[MAX_LEGS], owed[MAX_LEGS];
} proportional;

struct policy {
    int kind, legs;
    int64_t shares[MAX_LEGS], done; /* batch: of the leg whose turn it is */
    int turn;
    proportional rates;
    asked python;
};

/* Fill `answer` with legs, ascending; their number. 0: none now; below 0: the policy failed. */
int policy_legs(policy *self, transmit *shown, int64_t now, int size, int *answer);

/* The receiving PDCP entity (TS 38.323 clause 5.2.2) and its adaptive t-Reordering: the twins of
 * pdcp/receiving.py and timers.py, which have the rules. */

DEFINE_RING(packet_ring, void *)

enum { SLOT_EMPTY, SLOT_STORED, SLOT_DELIVERED };

/* A COUNT from RX_DELIV on. */
typedef struct {
    void *sdu;
    int64_t arrived;
    int leg;
    int is; /* SLOT_DELIVERED: out of order */
} slot;

typedef struct {
    int64_t first, end, since;
} gap;

typedef struct {
    int64_t at, value;
} extreme;

DEFINE_RING(gap_ring, gap)
DEFINE_RING(extreme_ring, extreme)

typedef struct {
    gap_ring gaps;
    extreme_ring longest[MAX_LEGS];
    int64_t learns_until;
    int has_seen;
} adaptive;

struct receive {
    int legs, in_order, off, keeps_order;
    int64_t t_reordering; /* ns; NEVER: infinity */
    int is_adaptive;
    adaptive adaptive;
    int64_t mask, window, deliv, next, reord, expires;
    slot *slots; /* of COUNT & (room - 1), for those in deliv .. deliv + room - 1 */
    int64_t room, stored;
    int64_t *given_up; /* of SN: 1 + the COUNT given up last with it, or 0; NULL: none ever was */
    int64_t leg_next[MAX_LEGS];
    reception seen[MAX_LEGS]; /* for reports */
    int64_t highest;          /* COUNT after the highest that they know of all legs */
    packet_ring ready;
    receive_counters counters;
};

#endif
