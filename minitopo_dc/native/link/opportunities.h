/* Mahimahi's delivery opportunities: the twin of link/models/opportunities.py, which has the rules. */
#ifndef MINITOPO_OPPORTUNITIES_H
#define MINITOPO_OPPORTUNITIES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t *moments; /* of the first lap */
    int64_t count, duration, size, limit;
    int64_t index, time, left; /* the opportunity in use, and the bits that it can still pass */
} opportunities;

void opportunities_begin(opportunities *self, const int64_t *moments, size_t count, int64_t duration, int64_t bits,
                         int after);
void opportunities_end(opportunities *self);
int64_t opportunities_finish(opportunities *self, int64_t start, int64_t bits);
int64_t opportunities_left(const opportunities *self, int64_t now);
void opportunities_skip(opportunities *self, int64_t now);
int64_t opportunities_rate_at(const opportunities *self, int64_t time);

#endif
