/* As Modules/_randommodule.c and Lib/random.py of CPython 3.11 to 3.13 have it: the Mersenne Twister
 * MT19937 (Matsumoto and Nishimura, 1998), 53 bits a number, and Box-Muller in pairs. */
#include "base.h"

#include <math.h>

#define N 624
#define M 397

void rng_set(rng *self, const uint32_t *state)
{
    memcpy(self->state, state, sizeof(self->state));
    self->has_gauss = 0;
}

static uint32_t twist(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);

    return (y >> 1) ^ ((low & 1u) ? 0x9908b0dfu : 0u);
}

static void refill(uint32_t *mt)
{
    int k;

    for (k = 0; k < N - M; k++)
        mt[k] = mt[k + M] ^ twist(mt[k], mt[k + 1]);
    for (; k < N - 1; k++)
        mt[k] = mt[k + M - N] ^ twist(mt[k], mt[k + 1]);
    mt[N - 1] = mt[M - 1] ^ twist(mt[N - 1], mt[0]);
    mt[N] = 0;
}

static uint32_t next_word(rng *self)
{
    uint32_t y;

    if (self->state[N] >= N)
        refill(self->state);
    y = self->state[self->state[N]++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

double rng_random(rng *self)
{
    uint32_t a = next_word(self) >> 5, b = next_word(self) >> 6;

    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
}

double rng_gauss(rng *self, double mu, double sigma)
{
    double z = self->gauss_next;

    if (!self->has_gauss) {
        double angle = rng_random(self) * (2.0 * 3.141592653589793);
        double radius = sqrt(-2.0 * log(1.0 - rng_random(self)));

        z = cos(angle) * radius;
        self->gauss_next = sin(angle) * radius;
    }
    self->has_gauss = !self->has_gauss;
    return mu + z * sigma;
}
