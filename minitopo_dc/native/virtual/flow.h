/* All packets from one socket to another, in virtual time: the way that they take. The twin of
 * virtual/packet.py, and of `entrance` and `arrive` of virtual/element.py. */
#ifndef MINITOPO_FLOW_H
#define MINITOPO_FLOW_H

#include "../base/ring.h"
#include "network.h"

typedef struct {
    int64_t due;
    packet *what;
    int leg;
    int64_t count;
} held;

DEFINE_RING(held_ring, held)

/* Holds everything for the same time. */
typedef struct {
    flow *of;
    void (*take)(flow *of, held *what);
    held_ring line;
    timer timer;
} delay_line;

struct flow {
    network *of;
    int headers;
    int64_t delay;
    transmit_driver *bearer;
    leg_driver *plain;
    receive_driver *other;
    delay_line in, out;
    host *to;                     /* NULL: Python takes what arrives */
    int to_source, to_destination; /* numbers at its endpoint */
};

/* A packet leaves its source. */
void flow_take(flow *self, packet *what);
/* A bearer's PDU crossed a leg. */
void flow_cross(packet *what, int leg, int64_t count);
/* A packet reached its destination. */
void flow_deliver(packet *what);

#endif
