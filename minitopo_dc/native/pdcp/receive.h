/* The receiving PDCP entity (TS 38.323 clause 5.2.2) and its adaptive t-Reordering: the twins of
 * pdcp/receiving/entity.py and t_reordering.py, which have the rules. */
#ifndef MINITOPO_RECEIVE_H
#define MINITOPO_RECEIVE_H

#include "../base/memory.h"
#include "../base/declared.h"

DEFINE_RING(packet_ring, void *)

enum { SLOT_EMPTY, SLOT_STORED, SLOT_DELIVERED };

/* A COUNT from RX_DELIV on. */
typedef struct {
    void *sdu;
    int64_t arrived;
    int leg;
    int is; /* SLOT_DELIVERED: out of order */
} slot;

typedef struct {
    int64_t first, end, since;
} gap;

typedef struct {
    int64_t at, value;
} extreme;

DEFINE_RING(gap_ring, gap)
DEFINE_RING(extreme_ring, extreme)

typedef struct {
    gap_ring gaps;
    extreme_ring longest[MAX_LEGS];
    int64_t learns_until;
    int has_seen;
} adaptive;

struct receive {
    int legs, in_order, off, plain, keeps_order, running;
    int64_t t_reordering; /* ns; NEVER: infinity */
    adaptive *adaptive;   /* or NULL */
    int64_t mask, window, deliv, next, reord, expires;
    slot *slots; /* of COUNT & (room - 1), for those in deliv .. deliv + room - 1 */
    int64_t room, stored;
    int64_t *given_up; /* of SN: 1 + the COUNT given up last with it, or 0; NULL: none ever was */
    int64_t leg_next[MAX_LEGS];
    packet_ring ready;
    receive_counters counters;
};

void receive_begin(receive *self, int sn_bits, int64_t t_reordering, int legs, int delivery, int keeps_order);
void receive_end(receive *self);
/* 0: discarded. `sn` may be any number that ends in it; `count` is that of its sender, -1: nobody knows it. */
int receive_push(receive *self, int64_t sn, int64_t count, void *sdu, int leg, int64_t now);
/* Move what is due into `ready`. */
void receive_settle(receive *self, int64_t now);

/* What a receiving entity's reports count: the twin of pdcp/receiving/report_maker.py, which also writes
 * them and says when. */
struct report_maker {
    const receive *of;
    int legs;
    int64_t mask, window, highest; /* COUNT after the highest of all legs */
    reception found[MAX_LEGS];
};

#endif
