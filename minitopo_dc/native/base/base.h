/* What all parts of the core share: whole numbers, memory, random numbers. `native.h` is included here only:
 * cffi, which reads it too, knows no preprocessor. */
#ifndef MINITOPO_BASE_H
#define MINITOPO_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../native.h"

/* Whole numbers as Python has them: divisions round down, and products may be larger than 64 bits. */

__extension__ typedef __int128 wide;

/* A time (ns) that never comes, and the answer "none" of what gives times. */
#define NEVER INT64_MAX
#define NBIT INT64_C(1000000000)
#define NS_PER_S INT64_C(1000000000)

static inline int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static inline wide wide_floor_div(wide a, int64_t b)
{
    wide q;

    if (a >= INT64_MIN + 1 && a <= INT64_MAX)
        return floor_div((int64_t)a, b);
    q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static inline wide wide_ceil_div(wide a, int64_t b)
{
    return -wide_floor_div(-a, b);
}

/* A wide time as one of 64 bits; what lies beyond any run becomes a moment beyond any run. */
static inline int64_t narrow(wide value)
{
    if (value >= NEVER)
        return NEVER - 1;
    return value <= INT64_MIN ? INT64_MIN : (int64_t)value;
}

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The bits of a number that is not below 0, without leading zeros. */
static inline int bits_of(int64_t value)
{
    return value ? 64 - __builtin_clzll((unsigned long long)value) : 0;
}

/* Memory that is there, and queues in it. Who gets none ends at once: nothing is left to simulate with. */

static inline void *checked(void *got)
{
    if (got == NULL) {
        fputs("minitopo-dc: the native core got no memory\n", stderr);
        abort();
    }
    return got;
}

static inline void *zeroed(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size));
}

static inline void *resized(void *old, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return checked(NULL);
    return checked(realloc(old, count * size));
}

/* A queue of values that grows: DEFINE_RING(name, type) makes the type `name` and its functions. */
#define DEFINE_RING(name, type)                                                                    \
    typedef struct {                                                                               \
        type *values;                                                                              \
        uint64_t head, tail, room; /* room: 0 or a power of two */                                 \
    } name;                                                                                        \
    static inline uint64_t name##_count(const name *ring)                                          \
    {                                                                                              \
        return ring->tail - ring->head;                                                            \
    }                                                                                              \
    static inline type *name##_at(const name *ring, uint64_t index)                                \
    {                                                                                              \
        return &ring->values[(ring->head + index) & (ring->room - 1)];                             \
    }                                                                                              \
    static inline type *name##_last(const name *ring)                                              \
    {                                                                                              \
        return &ring->values[(ring->tail - 1) & (ring->room - 1)];                                 \
    }                                                                                              \
    static inline void name##_grow(name *ring)                                                     \
    {                                                                                              \
        uint64_t count = name##_count(ring), room = ring->room ? 2 * ring->room : 16;              \
        type *values = resized(NULL, room, sizeof(type));                                          \
                                                                                                   \
        for (uint64_t index = 0; index < count; index++)                                           \
            values[index] = *name##_at(ring, index);                                               \
        free(ring->values);                                                                        \
        *ring = (name){values, 0, count, room};                                                    \
    }                                                                                              \
    static inline void name##_push(name *ring, type value)                                         \
    {                                                                                              \
        if (name##_count(ring) == ring->room)                                                      \
            name##_grow(ring);                                                                     \
        ring->values[ring->tail++ & (ring->room - 1)] = value;                                     \
    }                                                                                              \
    static inline type name##_pop(name *ring)                                                      \
    {                                                                                              \
        return ring->values[ring->head++ & (ring->room - 1)];                                      \
    }                                                                                              \
    static inline type name##_pop_last(name *ring)                                                 \
    {                                                                                              \
        return ring->values[--ring->tail & (ring->room - 1)];                                      \
    }                                                                                              \
    static inline void name##_free(name *ring)                                                     \
    {                                                                                              \
        free(ring->values);                                                                        \
        *ring = (name){NULL, 0, 0, 0};                                                             \
    }

/* CPython's random numbers: `random.Random`, from its state on. */

#define RNG_WORDS 625 /* of Random.getstate()[1]: 624 of the Mersenne Twister, and the next one's index */

typedef struct {
    uint32_t state[RNG_WORDS];
    double gauss_next;
    int has_gauss;
} rng;

void rng_set(rng *self, const uint32_t *state);
double rng_random(rng *self);
double rng_gauss(rng *self, double mu, double sigma);

#endif
