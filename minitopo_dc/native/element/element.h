/* The element on real packets: the twin of the package `minitopo_dc.real.element`, whose modules have the rules.
 *
 * A packet waits in the kernel while a leg or an entity holds it; its bytes are here meanwhile. */
#ifndef MINITOPO_ELEMENT_H
#define MINITOPO_ELEMENT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* recvmmsg, ppoll */
#endif

#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../router/router.h"

#define BATCH 32            /* messages of one recvmmsg */
#define OWN_BYTES 2304      /* of a message that a datagram has room for by itself */
#define MAX_MESSAGE 66560  /* bytes: the longest IP datagram, and what netlink says of it */
#define OUT_BYTES (1 << 18) /* of verdicts that are sent at once */
#define MAX_QUEUES 512
#define MAX_WATCHED 512
#define THROUGH_LEG 0x100 /* as in real/element/rules.py */

typedef struct datagram {
    struct datagram *next, *made_before; /* of those in no use; of all */
    element *of;
    leg_driver *sent_on; /* of the element's own: goes out of this leg; NULL: the kernel's */
    uint32_t id, mark;
    int queue, indev, shares, decided, changed;
    int ce; /* to be marked when it leaves */
    const capture_form *form; /* of a bearer's PDU on a leg; or NULL */
    uint8_t *ip;
    int length;
    uint8_t *large; /* where `bytes` is too short; or NULL */
    uint8_t bytes[OWN_BYTES + 8];
} datagram;

typedef void take_fn(void *of, datagram *what);

typedef struct {
    take_fn *take;
    void *of;
} nf_queue;

struct element {
    router router; /* the first member */
    int netlink, error;
    /* The loop's. */
    int64_t due, served, lead, python_due;
    struct pollfd watched[MAX_WATCHED];
    int watched_count;
    loop_counters counted;
    /* The queues'. */
    nf_queue queues[MAX_QUEUES];
    datagram *unused, *made, *slots[BATCH];
    uint8_t *overflow;
    struct mmsghdr messages[BATCH];
    struct iovec pieces[BATCH][2];
    uint8_t *out;
    size_t out_used;
    capture *captures;
};

/* Datagrams: what becomes of one is said once. */
datagram *datagram_take(element *of);
datagram *datagram_of(element *of, const uint8_t *ip, int length);
datagram *datagram_copy(const datagram *original, leg_driver *on);
void datagram_accept(datagram *self);
void datagram_release(void *shared); /* dropped, if nobody has it any more and nothing was said */
void datagram_keep(void *shared);
void datagrams_free(element *of);

/* Captures of legs, whose records are kept until the verdicts are out: Python has opened the files. */
void capture_packet(capture *self, const uint8_t *ip, int length, int64_t now);
/* One with its number behind; what is no PDU, or has no room for what is before it, is written as it is. */
void capture_pdu(capture *self, const capture_form *form, const uint8_t *ip, int length, int64_t now);
/* Write what has come together, where it is worth a call: to be done behind the verdicts. */
void captures_write(element *of);

/* The kernel's queues. */
void queues_begin(element *self);
void queues_end(element *self);
void queue_verdict(datagram *of, uint32_t verdict);

/* Let `element_run` end with the first such error. */
static inline void element_fail(element *self, int error, int descriptor)
{
    if (self->error)
        return;
    self->error = error;
    self->counted.failed = descriptor;
}

/* IP datagrams that carry PDUs (ip.c). */

/* From here on the first byte is IPv6's. */
#define IPV6_FIRST 0x60
#define TTL_OFFSET 8
#define HOP_LIMIT_OFFSET 7
#define SN_MAX_BYTES 3

/* Write the length of a datagram that grew by `growth`, and IPv4's checksum for it. */
void ip_set_total(uint8_t *ip, int total, int growth);

static inline int ip_is_v6(const uint8_t *ip)
{
    return ip[0] >> 4 == 6;
}

/* Where the TTL, or the hop limit, of a datagram is. */
static inline int ip_ttl_offset(const uint8_t *ip)
{
    return ip[0] < IPV6_FIRST ? TTL_OFFSET : HOP_LIMIT_OFFSET;
}

#endif
