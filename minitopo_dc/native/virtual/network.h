/* A run's network in virtual time: its events, packets and flows. The twin of virtual/network.py,
 * and of `entrance` and `arrive` of virtual/element.py. */
#ifndef MINITOPO_NETWORK_H
#define MINITOPO_NETWORK_H

#include "../router/router.h"

#define MAX_BYTES 1600 /* of a datagram that is carried itself: MAX_DATAGRAM of picoquic's helper */

/* What Python does; the first argument is the network's, the timer's, or the host's own handle. */
void python_fire(void *timer);
void python_deliver(void *network, int64_t token, int ecn);
void python_forget(void *network, int64_t token);
int64_t python_step(void *host, int why); /* when to step again */

/* Bytes, or what Python has: then `token` is not below 0. */
typedef struct packet {
    struct packet *next, *made_before; /* of those in no use; of all */
    network *of;
    flow *flow;
    int64_t token;
    int shares, size, length, ecn;
    struct packet *original; /* of a copy of what Python has, with a mark; or NULL */
    uint8_t data[MAX_BYTES];
} packet;

typedef struct {
    int64_t at;
    uint64_t number;
    timer *what;
} event;

/* Timers of the same moment fire in the order in which they were set. */
typedef struct {
    event *heap;
    size_t count, room;
    uint64_t number;
} events;

struct network {
    router router; /* the first member */
    events events;
    int stopping; /* after the current event */
    void *handle;
    packet *unused, *made;
};

typedef struct {
    int64_t due;
    packet *what;
    int leg;
    int64_t count;
} held;

DEFINE_RING(held_ring, held)

/* Holds everything for the same time; 0: for none. */
typedef struct {
    flow *of;
    void (*take)(flow *of, held *what);
    int64_t delay;
    held_ring line;
    timer timer;
} delay_line;

/* From the source to a router, before either end of the bearer, and from a router to the destination. */
enum { WIRE_IN, IN, OUT, WIRE_OUT, DELAY_LINES };

/* All packets from one socket to another, and the way that they take. */
struct flow {
    network *of;
    int headers, ecn;
    transmit_driver *bearer;
    leg_driver *plain;
    receive_driver *other;
    delay_line lines[DELAY_LINES];
    void (*take)(host *to, packet *what); /* NULL: Python takes what arrives */
    host *to;
    int to_source, to_destination; /* numbers at its endpoint */
};

packet *packet_new(flow *of, int64_t token, int size);
void packet_release(void *packet);

/* A packet leaves its source. */
void flow_take(flow *self, packet *what);

#endif
