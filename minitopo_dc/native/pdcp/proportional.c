#include "pdcp.h"

#include <math.h>

/* Python's `sum` of floats: from 3.12 on with Neumaier's compensation. */
static double sum(const double *values, int count)
{
    double total = values[0], lost = 0;

    for (int i = 1; i < count; i++) {
        double next = total + values[i];

#ifdef SUM_COMPENSATES
        lost += fabs(total) >= fabs(values[i]) ? (total - next) + values[i] : (values[i] - next) + total;
#endif
        total = next;
    }
    return lost != 0 && isfinite(lost) ? total + lost : total;
}

void proportional_begin(proportional *self, int legs, double time_constant, double floor)
{
    self->legs = legs;
    self->time_constant = time_constant;
    self->floor = floor;
    for (int leg = 0; leg < legs; leg++)
        self->shares[leg] = 1.0 / legs;
}

static void share(proportional *self)
{
    double total = sum(self->rates, self->legs), free = 1 - self->floor * self->legs;

    if (total != 0)
        for (int leg = 0; leg < self->legs; leg++)
            self->shares[leg] = self->floor + free * self->rates[leg] / total;
}

static int some_busy(const proportional *self)
{
    for (int leg = 0; leg < self->legs; leg++)
        if (!self->idle[leg] && !self->stood[leg])
            return 1;
    return 0;
}

static int has_rates(const proportional *self)
{
    for (int leg = 0; leg < self->legs; leg++)
        if (self->rates[leg] != 0)
            return 1;
    return 0;
}

/* An idle leg can do more than it is given, but not without end. */
static double grown(const proportional *self, int leg, double constants, double sample)
{
    double most = (sum(self->rates, self->legs) - self->rates[leg]) / self->floor;
    double more = fmax(self->rates[leg], sample) * exp(constants);

    return fmax(self->rates[leg], fmin(more, most));
}

/* `constants` time constants have passed. */
static void learn(proportional *self, double constants, const double *samples)
{
    int busy = some_busy(self);

    if (!has_rates(self)) {
        double mean = sum(samples, self->legs) / self->legs;

        for (int leg = 0; leg < self->legs; leg++)
            self->rates[leg] = mean;
    }
    for (int leg = 0; leg < self->legs; leg++) {
        if (self->stood[leg] || !busy)
            continue;
        if (self->idle[leg])
            self->rates[leg] = grown(self, leg, constants, samples[leg]);
        else
            self->rates[leg] += (1 - exp(-constants)) * (samples[leg] - self->rates[leg]);
    }
    share(self);
}

static void take_report(proportional *self, const transmit *shown, int64_t at)
{
    double samples[MAX_LEGS] = {0};
    int64_t elapsed = at - self->at, unused;

    for (int leg = 0; leg < self->legs; leg++) {
        int64_t delivered = view_report(shown, leg, &unused)->delivered_bytes;

        samples[leg] = (double)(delivered - self->delivered[leg]) / (double)elapsed;
        self->delivered[leg] = delivered;
    }
    if (self->has_report)
        learn(self, (double)elapsed / self->time_constant, samples);
    self->at = at;
    self->has_report = 1;
    memset(self->idle, 0, sizeof(self->idle));
    memset(self->stood, 0, sizeof(self->stood));
}

static void observe(proportional *self, transmit *shown, int64_t now)
{
    int64_t at = 0;

    for (int leg = 0; leg < self->legs; leg++) {
        if (view_backlog(shown, leg, now) == 0)
            self->idle[leg] = 1;
        if (view_drain(shown, leg, now, 0) == NEVER)
            self->stood[leg] = 1;
    }
    if (view_report(shown, 0, &at) != NULL && !(self->has_report && at == self->at))
        take_report(self, shown, at);
}

static double total_share(const proportional *self, unsigned legs)
{
    double shares[MAX_LEGS];
    int count = 0;

    for (int leg = 0; leg < self->legs; leg++)
        if (legs >> leg & 1u)
            shares[count++] = self->shares[leg];
    return sum(shares, count);
}

/* The leg that its share is owed most, the lower one of equals; it is paid. */
static int next_leg(proportional *self, int size, unsigned legs)
{
    double total = total_share(self, legs), most = 0;
    int found = -1;

    for (int leg = 0; leg < self->legs; leg++) {
        if (!(legs >> leg & 1u))
            continue;
        self->owed[leg] += size * self->shares[leg] / total;
        if (found < 0 || self->owed[leg] > most) {
            found = leg;
            most = self->owed[leg];
        }
    }
    self->owed[found] -= size;
    return found;
}

int proportional_leg(proportional *self, transmit *shown, int64_t now, int size, int *answer)
{
    unsigned able;

    observe(self, shown, now);
    able = candidates(shown, now, size);
    if (!able)
        return 0;
    answer[0] = next_leg(self, size, able);
    return 1;
}
