/* The twin of link/codel.py. */
#include "link.h"

#include <math.h>

#define MTU_BYTES 1500

enum { TARGET, INTERVAL };
enum { PASSED, ENTERED, DROPPED };

static void schedule(discipline *self, int64_t after)
{
    self->codel.drop_next = after + (int64_t)(self->numbers[INTERVAL] / sqrt((double)self->codel.count));
}

static int is_above(discipline *self, const at_queue *packet, int64_t now)
{
    if (packet->waited < whole(self, TARGET) || packet->queue_bytes <= MTU_BYTES) {
        self->codel.first_above = 0;
        return 0;
    }
    if (!self->codel.first_above) {
        self->codel.first_above = now + whole(self, INTERVAL);
        return 0;
    }
    return now >= self->codel.first_above;
}

static int enter(discipline *self, const at_queue *packet, int64_t now)
{
    int recent = now - self->codel.drop_next < 16 * whole(self, INTERVAL), verdict = congested(packet);
    int64_t more = self->codel.count - self->codel.last_count;

    self->codel.count = self->codel.last_count = more > 1 && recent ? more : 1;
    self->codel.dropping = 1;
    schedule(self, now);
    self->codel.before = verdict == VERDICT_MARK ? PASSED : ENTERED;
    return verdict;
}

static int dequeue(discipline *self, const at_queue *packet, int64_t now)
{
    int may_drop = is_above(self, packet, now), before = self->codel.before, verdict;

    self->codel.before = PASSED;
    if (before == ENTERED)
        return VERDICT_PASS;
    if (!self->codel.dropping)
        return may_drop ? enter(self, packet, now) : VERDICT_PASS;
    if (!may_drop) {
        self->codel.dropping = 0;
        return VERDICT_PASS;
    }
    if (before == DROPPED)
        schedule(self, self->codel.drop_next);
    if (now < self->codel.drop_next)
        return VERDICT_PASS;
    self->codel.count++;
    verdict = congested(packet);
    if (verdict == VERDICT_MARK)
        schedule(self, self->codel.drop_next);
    else
        self->codel.before = DROPPED;
    return verdict;
}

const discipline_kind codel_discipline = {.dequeue = dequeue};
