/* What a receiving entity's reports count: the twin of pdcp/receiving/report_maker.py, which also writes
 * them and says when. */
#ifndef MINITOPO_REPORT_MAKER_H
#define MINITOPO_REPORT_MAKER_H

#include "receive.h"

struct report_maker {
    const receive *of;
    int legs;
    int64_t mask, window, highest; /* COUNT after the highest of all legs */
    reception found[MAX_LEGS];
};

#endif
