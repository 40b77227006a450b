/* What is behind a leg's serialisation: the delay with its jitter, random loss, and packets in propagation,
 * which are serialised and have not arrived. The twins of link/propagation.py and loss.py: packets
 * keep their order, or (`overtakes`) each arrives at its own time as with netem, equal times in order. */
#ifndef MINITOPO_PROPAGATION_H
#define MINITOPO_PROPAGATION_H

#include <stdint.h>

#include "../base/memory.h"
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

typedef struct {
    void *packet;
    int64_t count; /* of its PDU, in virtual time; -1: no bearer took it */
} carried;

DEFINE_RING(carried_ring, carried)

typedef struct {
    int64_t arrival;
    uint64_t number;
    int size;
    carried what;
} sent;

DEFINE_RING(sent_ring, sent)

typedef struct {
    int overtakes;
    uint64_t number;
    sent_ring line; /* with `overtakes` a heap, whose head is always 0 */
    int64_t taken_packets, taken_bytes;
} propagation;

void propagation_put(propagation *self, int64_t arrival, int size, carried what);
/* When the next one arrives; NEVER: none is under way. */
int64_t propagation_first(const propagation *self);
/* The next one if it has arrived by `now`. */
int propagation_take(propagation *self, int64_t now, carried *what);

#endif
