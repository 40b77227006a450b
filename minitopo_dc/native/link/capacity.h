/* How fast a leg serialises: the twin of link/capacity.py, which has the rules. Times are ns
 * relative to the capacity's own zero; NEVER stands for Python's None. */
#ifndef MINITOPO_CAPACITY_H
#define MINITOPO_CAPACITY_H

#include <stddef.h>
#include <stdint.h>

#include "../base/arithmetic.h"

typedef struct capacity capacity;

enum { AFTER_LOOP, AFTER_HOLD, AFTER_STOP };

capacity *capacity_constant(int64_t rate_bps);
/* `edges` has one time more than there are rates: the trace's end. */
capacity *capacity_rates(const int64_t *edges, const int64_t *rates_bps, size_t count, int after);
capacity *capacity_opportunities(const int64_t *moments, size_t count, int64_t duration, int64_t bits, int after);
void capacity_free(capacity *self);

int64_t capacity_finish(capacity *self, int64_t start, int64_t bits);
int64_t capacity_left(const capacity *self, int64_t now);
int64_t capacity_interrupt(capacity *self, int64_t now);
int64_t capacity_first_bit(const capacity *self, int64_t start);
wide capacity_bits_until(const capacity *self, int64_t time);
int64_t capacity_rate_at(const capacity *self, int64_t time);

#endif
