/* Split policy `proportional`: the twin of pdcp/policies/proportional.py, which has the rules. */
#ifndef MINITOPO_PROPORTIONAL_H
#define MINITOPO_PROPORTIONAL_H

#include <stdint.h>

#include "../base/declared.h"

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

#endif
