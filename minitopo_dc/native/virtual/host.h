/* What flows see of an end host. */
#ifndef MINITOPO_HOST_H
#define MINITOPO_HOST_H

#include "network.h"

/* A datagram reached its socket. */
void host_receive(host *self, packet *what);

#endif
