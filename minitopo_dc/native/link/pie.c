/* The twin of link/pie.py. */
#include "link.h"

#include <math.h>

#define ALPHA_HZ 0.125
#define BETA_HZ 1.25
#define DECAY 0.98
#define LARGEST_STEP 0.02
#define UNLIKELY 0.85
#define CERTAIN 8.5
#define SCALES 6

enum { TARGET, INTERVAL, BURST, MARK_BELOW };

static void step(discipline *self)
{
    static const double limits[SCALES] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}, scales[SCALES] = {2048, 512, 128, 32, 8, 2};
    int64_t target = whole(self, TARGET), delay = self->pie.delay, before = self->pie.delay_before;
    double change = (ALPHA_HZ * (double)(delay - target) + BETA_HZ * (double)(delay - before)) / (double)NS_PER_S;
    double probability = self->pie.probability;
    int i = 0;

    while (i < SCALES && probability >= limits[i])
        i++;
    if (i < SCALES)
        change /= scales[i];
    if (probability >= 0.1 && change > LARGEST_STEP)
        change = LARGEST_STEP;
    probability += change;
    if (!delay && !before)
        probability *= DECAY;
    self->pie.probability = fmin(fmax(probability, 0), 1);
    self->pie.delay_before = delay;
    self->pie.burst = later(self->pie.burst - whole(self, INTERVAL), 0);
    if (self->pie.probability == 0 && 2 * delay < target && 2 * before < target)
        self->pie.burst = whole(self, BURST);
}

static void steps(discipline *self, int64_t now)
{
    int64_t interval = whole(self, INTERVAL);

    if (self->pie.update == NEVER)
        self->pie.update = now + interval;
    while (self->pie.update <= now) {
        if (self->pie.probability == 0 && !self->pie.delay && !self->pie.delay_before)
            self->pie.update += (now - self->pie.update) / interval * interval;
        step(self);
        self->pie.update += interval;
    }
}

static int drops(discipline *self, const at_queue *packet)
{
    int is_short = 2 * self->pie.delay_before < whole(self, TARGET) && self->pie.probability < 0.2;

    if (is_short || packet->queue_packets <= 2)
        return 0;
    if (self->pie.probability == 0)
        self->pie.sum = 0;
    self->pie.sum += self->pie.probability;
    if (self->pie.sum < UNLIKELY)
        return 0;
    return self->pie.sum >= CERTAIN || rng_random(&self->random) < self->pie.probability;
}

static int enqueue(discipline *self, const at_queue *packet, int64_t now)
{
    steps(self, now);
    if (self->pie.burst > 0 || !drops(self, packet))
        return VERDICT_PASS;
    self->pie.sum = 0;
    return self->pie.probability <= self->numbers[MARK_BELOW] ? congested(packet) : VERDICT_DROP;
}

static int dequeue(discipline *self, const at_queue *packet, int64_t now)
{
    steps(self, now);
    self->pie.delay = packet->queue_packets ? packet->waited : 0;
    return VERDICT_PASS;
}

const discipline_kind pie_discipline = {.enqueue = enqueue, .dequeue = dequeue};
