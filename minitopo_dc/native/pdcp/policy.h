/* Split policies: which legs a PDU takes, and what they see of the legs (LegView of pdcp/policies/view.py).
 * Twins of pdcp/policies, which have the rules. */
#ifndef MINITOPO_POLICY_H
#define MINITOPO_POLICY_H

#include "transmit.h"

int view_is_up(const transmit *of, int leg);
int view_may_wait(const transmit *of);
int64_t view_pending_bytes(const transmit *of);
/* The receiver's latest report, or NULL; when it came is in `at`. */
const leg_report *view_report(const transmit *of, int leg, int64_t *at);

/* The same for Python. */
void view_show(const transmit *of, int leg, leg_view *shown);

/* Legs that may get an SDU, as bits: `candidates` of pdcp/policies/view.py. */
unsigned candidates(transmit *of, int64_t now, int size);

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

void proportional_begin(proportional *self, int legs, double time_constant, double floor);
int proportional_leg(proportional *self, transmit *shown, int64_t now, int size, int *answer);

/* A split policy in Python, which is asked for each SDU by a call. */
typedef struct {
    int (*ask)(void *policy, int64_t now, int size, int *answer);
    void *policy;
    leg_view *shown; /* NULL: it does not see its legs */
} asked;

enum { POLICY_BATCH, POLICY_DUPLICATE, POLICY_LEAST_DELAY, POLICY_PROPORTIONAL, POLICY_ASKED };

struct policy {
    int kind, legs;
    int64_t shares[MAX_LEGS], done; /* batch: of the leg whose turn it is */
    int turn;
    proportional rates;
    asked python;
};

/* Fill `answer` with legs, ascending; their number. 0: none now; below 0: the policy failed. */
int policy_legs(policy *self, transmit *shown, int64_t now, int size, int *answer);

#endif
