/* Split policies: which legs a PDU takes. Twins of pdcp/policies; a policy sees the entity's legs by the
 * functions of `view.h`. */
#ifndef MINITOPO_POLICY_H
#define MINITOPO_POLICY_H

#include <stdint.h>

#include "../base/declared.h"
#include "proportional.h"

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
