/* A run's network in virtual time: packets, flows, and the drivers of legs and bearers. The twin of
 * simulation/packet.py, drivers.py and element.py. */
#ifndef MINITOPO_NETWORK_H
#define MINITOPO_NETWORK_H

#include "../link/leg.h"
#include "../pdcp/receive.h"
#include "../pdcp/report_maker.h"
#include "../pdcp/transmit.h"
#include "loop.h"

#define MAX_BYTES 1600 /* of a datagram that is carried itself: MAX_DATAGRAM of picoquic's helper */
#define MAX_NUMBERS 256 /* of legs: 1 to 250 */

/* Bytes, or what Python has: then `token` is not below 0. */
typedef struct packet {
    struct packet *next, *made_before; /* of those in no use; of all */
    network *of;
    flow *flow;
    int64_t token;
    int shares, size, length;
    uint8_t data[MAX_BYTES];
} packet;

typedef struct {
    int64_t due;
    packet *what;
    int leg;
    int64_t sn;
} held;

DEFINE_RING(held_ring, held)

/* Holds everything for the same time. */
typedef struct {
    flow *of;
    void (*take)(flow *of, held *what);
    held_ring line;
    timer timer;
} delay_line;

struct leg_driver {
    network *of;
    leg *leg;
    int number;
    timer timer;
};

struct transmit_driver {
    network *of;
    transmit *entity;
    leg_driver *legs[MAX_LEGS];
    timer timer;
};

struct receive_driver {
    network *of;
    receive *entity;
    report_maker *maker; /* or NULL */
    int positions[MAX_NUMBERS];
    int64_t delivered_bytes;
    timer timer;
};

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

typedef struct owned {
    struct owned *next;
    void (*free)(void *object);
    void *object;
} owned;

struct network {
    loop loop;
    python_calls calls;
    void *handle;
    int closing;
    packet *unused, *made;
    owned *objects;
};

void network_own(network *self, void *object, void (*release)(void *object));
packet *packet_new(flow *of, int64_t token, int size);
void packet_release(void *packet);
void flow_take(flow *self, packet *what);
void flow_deliver(packet *what);
void host_receive(host *self, packet *what);

void delay_line_begin(delay_line *self, flow *of, void (*take)(flow *of, held *what));
void delay_line_push(delay_line *self, held what);

void leg_driver_push(leg_driver *self, packet *what, int64_t sn, int size);
void transmit_driver_push(transmit_driver *self, packet *what);
void receive_driver_push(receive_driver *self, packet *what, int leg, int64_t sn);

#endif
