/* Split policy `least-delay`: the twin of pdcp/policies/least_delay.py, which has the rules. */
#ifndef MINITOPO_LEAST_DELAY_H
#define MINITOPO_LEAST_DELAY_H

#include <stdint.h>

#include "../base/declared.h"

int least_delay(transmit *shown, int64_t now, int size, int *answer);

#endif
