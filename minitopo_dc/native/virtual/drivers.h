/* Drivers of the legs and of the PDCP entities by timers, in virtual time: the twin of virtual/drivers.py. */
#ifndef MINITOPO_DRIVERS_H
#define MINITOPO_DRIVERS_H

#include "../link/leg.h"
#include "../pdcp/receive.h"
#include "../pdcp/report_maker.h"
#include "../pdcp/transmit.h"
#include "network.h"

#define MAX_NUMBERS 256 /* of legs: 1 to 250 */

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

void leg_driver_push(leg_driver *self, packet *what, int64_t count, int size);
void transmit_driver_push(transmit_driver *self, packet *what);
void receive_driver_push(receive_driver *self, packet *what, int leg, int64_t count);

#endif
