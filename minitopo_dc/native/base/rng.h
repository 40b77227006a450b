/* CPython's random numbers: `random.Random`, from its state on. */
#ifndef MINITOPO_RNG_H
#define MINITOPO_RNG_H

#include <stdint.h>

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
