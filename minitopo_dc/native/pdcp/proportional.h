/* Split policy `proportional`: twins of pdcp/policies/proportional.py, of DeliveryRates and of
 * DeficitRoundRobin, which have the rules. */
#ifndef MINITOPO_PROPORTIONAL_H
#define MINITOPO_PROPORTIONAL_H

#include <stdint.h>

#include "../base/declared.h"

typedef struct {
    int legs, has_report;
    double time_constant, floor;
    int64_t at, delivered[MOST_LEGS];
    double rates[MOST_LEGS]; /* bytes per ns */
    int idle[MOST_LEGS], stood[MOST_LEGS];
    double shares[MOST_LEGS], owed[MOST_LEGS];
} proportional;

void proportional_begin(proportional *self, int legs, double time_constant, double floor);
int proportional_leg(proportional *self, transmit *shown, int64_t now, int size, int *answer);

#endif
