/* What gnb and ue do with packets, the same on both clocks: the twin of router/drivers.py. A host of either clock
 * is a router with what is its own behind it: it calls timers at their moments, and says what becomes of packets. */
#ifndef MINITOPO_ROUTER_H
#define MINITOPO_ROUTER_H

#include "../pdcp/pdcp.h"

struct timer {
    int64_t at; /* NEVER: it is not set */
    timer *next; /* of those of its router's drivers */
    router *of;
    void (*fire)(void *owner);
    void *owner;
};

typedef struct owned {
    struct owned *next;
    void (*free)(void *object);
    void *object;
} owned;

#define FORM_ROOM 64

/* How a bearer's PDUs on a leg are written in its capture: behind `start`, the headers and tags of an outer datagram;
 * or, where that has no bytes, with the number behind the SDU. */
typedef struct {
    uint8_t start[FORM_ROOM];
    int length, number_bytes;
} capture_form;

/* The functions are the host's. */
struct router {
    int64_t now;
    int closing;
    int failed; /* nothing goes on: something raised in Python */
    packet_hooks packets;
    timer *timers; /* of its drivers: those that put packets on legs come first */
    /* Fire a timer at its new moment. */
    void (*wake)(router *self, timer *what);
    /* A packet crossed a leg. */
    void (*leave)(leg_driver *by, carried what);
    /* Put a PDU on its leg, by `leg_driver_push`. */
    void (*put)(transmit_driver *of, pdu what);
    /* Hand up an SDU; its bytes. */
    int (*deliver)(void *packet);
    owned *objects;
};

struct leg_driver {
    uncarried uncarried; /* on real packets only */
    router *of;
    leg *leg;
    int number;
    timer timer;
    /* On real packets only. */
    int raw[2];       /* sockets for what is the element's own, of IPv4 and IPv6; -1: none */
    capture *capture; /* or NULL */
};

struct transmit_driver {
    uncarried uncarried;
    router *of;
    transmit *entity;
    leg_driver *legs[MAX_LEGS];
    timer timer;
    capture_form forms[MAX_LEGS];
};

struct receive_driver {
    uncarried uncarried;
    router *of;
    receive *entity;
    int legs, keys[MAX_LEGS];
    timer timer;
    capture *captures[MAX_LEGS]; /* or NULL */
    capture_form forms[MAX_LEGS];
};

static inline void timer_bring_forward(timer *self, int64_t moment)
{
    if (moment < self->at)
        timer_set(self, moment);
}

/* What a router owns it frees, the last one first. */
void router_own(router *self, void *object, void (*release)(void *object));
void router_free_owned(router *self);

/* `number`: a COUNT, or the SN where nobody knows more of it; -1: the packet has no bearer. */
void leg_driver_push(leg_driver *self, void *packet, int64_t number, int size);
void transmit_driver_push(transmit_driver *self, void *sdu, int size);
/* The position of a bearer's leg; -1: it has none of this key. */
int receive_driver_position(const receive_driver *self, int key);
/* `count` is -1 where nobody knows it. */
void receive_driver_push(receive_driver *self, void *sdu, int size, int position, int64_t sn, int64_t count);

#endif
