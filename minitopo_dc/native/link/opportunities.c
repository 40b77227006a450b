#include "opportunities.h"

#include "../base/arithmetic.h"
#include "../base/memory.h"
#include "capacity.h"

#define RATE_WINDOW (100 * INT64_C(1000000)) /* ns, as RATE_WINDOW_NS of the twin */

void opportunities_begin(opportunities *self, const int64_t *moments, size_t count, int64_t duration, int64_t bits,
                         int after)
{
    self->moments = resized(NULL, count, sizeof(*moments));
    memcpy(self->moments, moments, count * sizeof(*moments));
    self->count = (int64_t)count;
    self->duration = duration;
    self->size = bits;
    self->limit = after == AFTER_STOP ? self->count : INT64_MAX;
    self->index = 0;
    self->time = INT64_MIN;
    self->left = 0;
}

void opportunities_end(opportunities *self)
{
    free(self->moments);
}

static int64_t moment(const opportunities *self, int64_t index)
{
    int64_t lap = floor_div(index, self->count);

    return narrow((wide)lap * self->duration + self->moments[index - lap * self->count]);
}

/* The number of the first opportunity at or after `time`. */
static int64_t count_before(const opportunities *self, int64_t time)
{
    int64_t lap = floor_div(time - 1, self->duration);
    int64_t local = time - lap * self->duration;
    int64_t low = 0, high = self->count;

    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (self->moments[middle] < local)
            low = middle + 1;
        else
            high = middle;
    }
    return earlier(narrow((wide)lap * self->count + low), self->limit);
}

/* The first opportunity that serves what arrives at `time`. */
static int64_t first_from(const opportunities *self, int64_t time)
{
    int64_t first = count_before(self, time);

    return time >= 0 ? later(first, 0) : first;
}

int64_t opportunities_finish(opportunities *self, int64_t start, int64_t bits)
{
    int64_t index, left;

    if (start > self->time) {
        self->index = first_from(self, start);
        self->time = moment(self, self->index);
        self->left = self->size;
    }
    index = self->index;
    left = self->left - bits;
    if (left < 0) {
        int64_t more = -floor_div(left, self->size);

        index += more;
        left += more * self->size;
    }
    if (index >= self->limit)
        return NEVER;
    if (index != self->index) {
        self->index = index;
        self->time = moment(self, index);
    }
    self->left = left;
    return self->time;
}

int64_t opportunities_left(const opportunities *self, int64_t now)
{
    int64_t between = self->index - count_before(self, now + 1);

    return self->size - self->left + between * self->size;
}

/* The opportunities up to `now` are used. */
void opportunities_skip(opportunities *self, int64_t now)
{
    self->index = count_before(self, now + 1) - 1;
    self->time = moment(self, self->index);
    self->left = 0;
}

int64_t opportunities_rate_at(const opportunities *self, int64_t time)
{
    int64_t bits = (first_from(self, time) - first_from(self, time - RATE_WINDOW)) * self->size;

    return narrow(wide_floor_div((wide)bits * NS_PER_S, RATE_WINDOW));
}
