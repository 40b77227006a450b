/* t-Reordering that follows the reordering delay that is seen: the twin of
 * pdcp/receiving/t_reordering.py, which has the rules. */
#ifndef MINITOPO_T_REORDERING_H
#define MINITOPO_T_REORDERING_H

#include <stdint.h>

#include "../base/ring.h"
#include "../base/declared.h"

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

int64_t adaptive_value(adaptive *self, int64_t now);
/* COUNTs `first` to before `end` are missing. */
void adaptive_opened(adaptive *self, int64_t first, int64_t end, int64_t now);
/* A COUNT that was missing has arrived. */
void adaptive_arrived(adaptive *self, int64_t count, int leg, int64_t now);
void adaptive_end(adaptive *self);

#endif
