/* Whole numbers as Python has them: divisions round down, and products may be larger than 64 bits. */
#ifndef MINITOPO_ARITHMETIC_H
#define MINITOPO_ARITHMETIC_H

#include <stdint.h>

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

#endif
