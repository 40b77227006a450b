/* The twin of DualPi2 in link/pie.py. */
#include "link.h"

#include <math.h>

#define WEIGHT 16
#define FEW 1

enum { TARGET, ROUND_TRIP, COUPLING, RAMP_FROM, RAMP };
enum { CLASSIC, LOW_LATENCY };

static int is_l4s(int ecn)
{
    return ecn == ECT_1 || ecn == CE;
}

static int64_t update_interval(const discipline *self)
{
    return earlier(whole(self, TARGET), whole(self, ROUND_TRIP) / 3);
}

static void step(discipline *self, int64_t delay)
{
    double round_trip = self->numbers[ROUND_TRIP] / (double)NS_PER_S;
    double alpha = 0.1 * ((double)update_interval(self) / (double)NS_PER_S) / (round_trip * round_trip);
    double beta = 0.3 / round_trip;
    double change = alpha * (double)(delay - whole(self, TARGET)) + beta * (double)(delay - self->dual.delay_before);

    self->dual.probability = fmin(fmax(self->dual.probability + change / (double)NS_PER_S, 0), 1);
    self->dual.delay_before = delay;
}

static void steps(discipline *self, int64_t oldest, int64_t now)
{
    int64_t interval = update_interval(self);

    if (self->dual.update == NEVER)
        self->dual.update = now + interval;
    while (self->dual.update <= now) {
        step(self, later(self->dual.update - oldest, 0));
        self->dual.update += interval;
        if (self->dual.update < oldest && self->dual.probability == 0 && !self->dual.delay_before)
            self->dual.update += (oldest - self->dual.update) / interval * interval;
    }
}

static uint64_t choose(discipline *self, const queue_ring *queue, int64_t now)
{
    uint64_t count = queue_ring_count(queue), first[2] = {count, count};
    int64_t number[2] = {0, 0}, oldest = NEVER;

    for (uint64_t i = 0; i < count; i++) {
        const queued *at = queue_ring_at(queue, i);
        int kind = is_l4s(at->ecn) ? LOW_LATENCY : CLASSIC;

        first[kind] = number[kind]++ ? first[kind] : i;
        oldest = earlier(oldest, at->pushed);
    }
    steps(self, oldest, now);
    self->dual.behind = number[LOW_LATENCY] - 1;
    if (!number[CLASSIC] || !number[LOW_LATENCY])
        return 0;
    self->dual.turn = (self->dual.turn + 1) % WEIGHT;
    return first[self->dual.turn ? LOW_LATENCY : CLASSIC];
}

static int recurs(discipline *self, int kind, double probability)
{
    self->dual.sums[kind] += probability;
    if (self->dual.sums[kind] <= 1)
        return 0;
    self->dual.sums[kind] -= 1;
    return 1;
}

static double ramp(const discipline *self, int64_t waited)
{
    int64_t start = whole(self, RAMP_FROM);

    if (self->dual.behind <= FEW || waited <= start)
        return 0;
    return fmin((double)(waited - start) / self->numbers[RAMP], 1);
}

static int dequeue(discipline *self, const at_queue *packet, int64_t now)
{
    double coupling = self->numbers[COUPLING], probability = self->dual.probability;
    double classic = probability * probability, coupled = coupling * probability;
    int marks;

    (void)now;
    if (!is_l4s(packet->ecn)) {
        if (!recurs(self, CLASSIC, classic))
            return VERDICT_PASS;
        return classic >= fmin(1 / (coupling * coupling), 1) ? VERDICT_DROP : congested(packet);
    }
    if (coupled < 1)
        marks = recurs(self, LOW_LATENCY, fmax(ramp(self, packet->waited), coupled));
    else if (recurs(self, LOW_LATENCY, classic))
        return VERDICT_DROP;
    else
        marks = recurs(self, LOW_LATENCY, coupled);
    return marks ? VERDICT_MARK : VERDICT_PASS;
}

const discipline_kind dualpi2_discipline = {.dequeue = dequeue, .choose = choose};
