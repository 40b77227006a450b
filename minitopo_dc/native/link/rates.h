/* The exact integral of a rate trace, in integers: the twin of RateCapacity. */
#ifndef MINITOPO_RATES_H
#define MINITOPO_RATES_H

#include <stddef.h>
#include <stdint.h>

#include "../base/arithmetic.h"

typedef struct {
    wide from, to;   /* ns */
    wide done, full; /* work at both, in 1e-9 bit from time 0 on */
    int64_t rate;
} segment;

typedef struct {
    int64_t *edges; /* `count` + 1 of them */
    int64_t *rates; /* the one behind the last is what follows the trace's end */
    wide *work;     /* up to each edge */
    size_t count;
    int loops;
    segment in;
    int64_t last;
    wide reached; /* work at the exact end of the last packet */
} rates;

void rates_begin(rates *self, const int64_t *edges, const int64_t *rates_bps, size_t count, int after);
void rates_end(rates *self);
int64_t rates_finish(rates *self, int64_t start, int64_t bits);
int64_t rates_left(const rates *self, int64_t now);
int64_t rates_at(const rates *self, int64_t time);

#endif
