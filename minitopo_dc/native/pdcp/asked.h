/* A split policy in Python, which is asked for each SDU by a call. */
#ifndef MINITOPO_ASKED_H
#define MINITOPO_ASKED_H

#include "../base/declared.h"

typedef struct {
    int (*ask)(void *policy, int64_t now, int size, int *answer);
    void *policy;
    leg_view *shown; /* NULL: it does not see its legs */
} asked;

int asked_legs(asked *self, const transmit *shown, int64_t now, int size, int *answer);

#endif
