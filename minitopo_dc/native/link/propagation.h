/* Packets in propagation: serialised, not yet arrived. The twin of link/models/propagation.py: in
 * order, or (`overtakes`) each at its own time as with netem, equal times in order. */
#ifndef MINITOPO_PROPAGATION_H
#define MINITOPO_PROPAGATION_H

#include "../base/ring.h"

typedef struct {
    void *packet;
    int64_t count; /* of its PDU, in virtual time; -1: no bearer took it */
} carried;

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
