/* A run's network in virtual time: who owns what, and its packets. The twin of virtual/packet.py. */
#ifndef MINITOPO_NETWORK_H
#define MINITOPO_NETWORK_H

#include "../base/declared.h"
#include "../base/memory.h"
#include "../base/packet.h"
#include "loop.h"

#define MAX_BYTES 1600 /* of a datagram that is carried itself: MAX_DATAGRAM of picoquic's helper */

/* Bytes, or what Python has: then `token` is not below 0. */
typedef struct packet {
    struct packet *next, *made_before; /* of those in no use; of all */
    network *of;
    flow *flow;
    int64_t token;
    int shares, size, length;
    uint8_t data[MAX_BYTES];
} packet;

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
/* How legs and entities share packets. */
packet_hooks packet_sharing(void);

#endif
