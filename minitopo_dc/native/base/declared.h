/* `native.h` once: cffi, which reads it too, knows no preprocessor. */
#ifndef MINITOPO_DECLARED_H
#define MINITOPO_DECLARED_H

#include <stddef.h>
#include <stdint.h>

#include "../native.h"

/* A packet as legs and PDCP know it: a pointer that they hand on. Who made it says how it is shared. */
typedef struct {
    void (*keep)(void *packet);    /* one more has it; NULL: nobody counts */
    void (*release)(void *packet); /* one less has it */
    int (*ecn)(const void *packet); /* its code point, by `link/discipline.h` */
    /* Set Congestion Experienced; the packet that has it then: another one where several have it. */
    void *(*mark)(void *packet);
} packet_hooks;

static inline void keep_packet(const packet_hooks *hooks, void *packet)
{
    if (hooks->keep != NULL)
        hooks->keep(packet);
}

static inline void release_packet(const packet_hooks *hooks, void *packet)
{
    if (hooks->release != NULL)
        hooks->release(packet);
}

#endif
