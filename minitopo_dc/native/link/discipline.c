#include "link.h"

#include <math.h>

static int step_dequeue(discipline *self, const at_queue *packet, int64_t now)
{
    (void)now;
    return packet->waited > whole(self, 0) ? congested(packet) : VERDICT_PASS;
}

const discipline_kind step_discipline = {.dequeue = step_dequeue};

/* RED. */

enum { LOW, HIGH, PROBABILITY, WEIGHT, MEAN };

static void red_average(discipline *self, int64_t waiting, int64_t now)
{
    double kept = 1 - self->numbers[WEIGHT];

    if (waiting || self->red.idle_since == NEVER)
        self->red.average = kept * self->red.average + self->numbers[WEIGHT] * (double)waiting;
    else
        self->red.average *= pow(kept, (double)(now - self->red.idle_since) / self->numbers[MEAN]);
}

static int red_enqueue(discipline *self, const at_queue *packet, int64_t now)
{
    double low = self->numbers[LOW], high = self->numbers[HIGH], base, spread;

    red_average(self, packet->queue_packets, now);
    if (self->red.average < low) {
        self->red.count = -1;
        return VERDICT_PASS;
    }
    if (self->red.average >= high) {
        self->red.count = 0;
        return VERDICT_DROP;
    }
    self->red.count++;
    base = self->numbers[PROBABILITY] * (self->red.average - low) / (high - low);
    spread = (double)self->red.count * base;
    if (spread < 1 && rng_random(&self->random) >= base / (1 - spread))
        return VERDICT_PASS;
    self->red.count = 0;
    return congested(packet);
}

static int red_dequeue(discipline *self, const at_queue *packet, int64_t now)
{
    self->red.idle_since = packet->queue_packets ? NEVER : now;
    return VERDICT_PASS;
}

const discipline_kind red_discipline = {.enqueue = red_enqueue, .dequeue = red_dequeue};

/* Any. */

void leg_set_discipline(leg *of, int kind, const double *numbers, int count, const uint32_t *random)
{
    static const discipline_kind *const kinds[] = {&step_discipline, &red_discipline, &codel_discipline,
                                                   &pie_discipline, &dualpi2_discipline};
    discipline *self = of->discipline = zeroed(1, sizeof(*self));

    self->kind = kinds[kind];
    memcpy(self->numbers, numbers, (size_t)count * sizeof(*numbers));
    rng_set(&self->random, random);
    if (kind == RED) {
        self->red.count = -1;
        self->red.idle_since = NEVER;
    } else if (kind == PIE) {
        self->pie.burst = whole(self, 2);
        self->pie.update = NEVER;
    } else if (kind == DUALPI2) {
        self->dual.update = NEVER;
    }
}
