/* Propagation delay with jitter, and random loss: twins of link/models/delay.py and loss.py. */
#ifndef MINITOPO_MODELS_H
#define MINITOPO_MODELS_H

#include <stdint.h>

#include "../base/rng.h"

enum { DELAY_CONSTANT, DELAY_NORMAL, DELAY_UNIFORM };

typedef struct {
    int kind;
    int64_t a; /* ns: the delay, the mean, or the lower limit */
    int64_t b; /* ns: unused, the standard deviation, or the upper limit */
} delay_model;

enum { LOSS_NONE, LOSS_BERNOULLI, LOSS_GILBERT_ELLIOTT };

typedef struct {
    int kind;
    double p, r, h, k; /* as GilbertElliott has them; Bernoulli has p alone */
    int bad;
} loss_model;

int64_t delay_sample(const delay_model *model, rng *random);
int64_t delay_mean(const delay_model *model);
int loss_next(loss_model *model, rng *random);

#endif
