/* What a split policy sees of each leg of its bearer: LegView of pdcp/policies/view.py. */
#ifndef MINITOPO_VIEW_H
#define MINITOPO_VIEW_H

#include "../base/arithmetic.h"
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

#endif
