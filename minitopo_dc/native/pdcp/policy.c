#include "pdcp.h"

#include <math.h>

static int64_t view_pending_bytes(const transmit *of)
{
    return pdu_ring_count(&of->waiting) ? of->waiting_bytes - pdu_ring_at(&of->waiting, 0)->size : 0;
}

static leg_view view_of(transmit *of, int leg)
{
    return (leg_view){
        .of = of,
        .is_up = bearer_leg_is_up(&of->access[leg]),
        .pending_bytes = view_pending_bytes(of),
        .sent_pdus = of->counters.pdus[leg],
        .sent_bytes = of->counters.bytes[leg],
        .report = of->heard.reports[leg],
    };
}

/* Legs that may get an SDU, as bits: `candidates` of pdcp/policies/view.py. */
static unsigned candidates(transmit *of, int64_t now, int size)
{
    unsigned taking = 0, moving = 0, up = 0, found;

    for (int leg = 0; leg < of->legs; leg++) {
        taking |= (unsigned)view_takes(of, leg, now, size) << leg;
        moving |= (unsigned)(view_drain(of, leg, now, 0) != NEVER) << leg;
        up |= (unsigned)bearer_leg_is_up(&of->access[leg]) << leg;
    }
    found = moving ? taking & moving : taking & up;
    if (found || of->waits)
        return found;
    return moving ? moving : (1u << of->legs) - 1;
}

/* Split policy `proportional`: pdcp/policies/proportional.py has the rules. */

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
    int64_t elapsed = at - self->at;

    for (int leg = 0; leg < self->legs; leg++) {
        int64_t delivered = shown->heard.reports[leg].delivered_bytes;

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
    const leg_report *latest = &shown->heard.reports[0];

    for (int leg = 0; leg < self->legs; leg++) {
        if (view_backlog(shown, leg, now) == 0)
            self->idle[leg] = 1;
        if (view_drain(shown, leg, now, 0) == NEVER)
            self->stood[leg] = 1;
    }
    if (latest->number && !(self->has_report && latest->at == self->at))
        take_report(self, shown, latest->at);
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

static int proportional_leg(proportional *self, transmit *shown, int64_t now, int size, int *answer)
{
    unsigned able;

    observe(self, shown, now);
    able = candidates(shown, now, size);
    if (!able)
        return 0;
    answer[0] = next_leg(self, size, able);
    return 1;
}

/* Any policy. */

policy *policy_new(int kind, int legs, const double *numbers, asked python)
{
    policy *self = zeroed(1, sizeof(*self));

    self->kind = kind;
    self->legs = legs;
    self->python = python;
    if (kind == POLICY_PROPORTIONAL)
        self->rates = (proportional){.legs = legs, .time_constant = numbers[0], .floor = numbers[1]};
    for (int leg = 0; leg < legs; leg++) {
        self->shares[leg] = kind == POLICY_BATCH ? (int64_t)numbers[leg] : 0;
        self->rates.shares[leg] = 1.0 / legs;
    }
    return self;
}

/* Split policy `least-delay`: pdcp/policies/best_leg.py has the rules. */

/* Where SDUs do not wait: the leg with room, then the least expected arrival, then the lowest. */
static int at_once(transmit *shown, int64_t now, int size)
{
    int64_t least = NEVER;
    int best = 0, best_is_full = 1, found = 0;

    for (int leg = 0; leg < shown->legs; leg++) {
        int64_t delay = view_expected(shown, leg, now, size);
        int is_full;

        if (delay == NEVER)
            continue;
        is_full = !view_has_room(shown, leg, now, size);
        if (!found || is_full < best_is_full || (is_full == best_is_full && delay < least)) {
            found = 1;
            best = leg;
            best_is_full = is_full;
            least = delay;
        }
    }
    return best;
}

/* Earliest completion first; 0: the SDU had better wait. */
static int or_wait(transmit *shown, int64_t now, int size, int *answer)
{
    int64_t best_delay = NEVER, taking_delay = NEVER, alone;
    int best = -1, taking = -1;
    unsigned able;

    for (int leg = 0; leg < shown->legs; leg++) {
        int64_t delay = view_expected(shown, leg, now, size);

        if (delay < best_delay) {
            best_delay = delay;
            best = leg;
        }
        if (delay < taking_delay && view_takes(shown, leg, now, size)) {
            taking_delay = delay;
            taking = leg;
        }
    }
    if (best < 0) { /* the lowest of those that may get it */
        able = candidates(shown, now, size);
        answer[0] = able ? __builtin_ctz(able) : 0;
        return able != 0;
    }
    if (taking < 0)
        return 0;
    answer[0] = taking;
    if (taking_delay == best_delay)
        return 1;
    alone = view_expected(shown, best, now, size + view_pending_bytes(shown));
    return taking_delay <= alone;
}

/* A share is above 0 for at least one leg. */
static int batch(policy *self)
{
    while (self->done >= self->shares[self->turn]) {
        self->turn = (self->turn + 1) % self->legs;
        self->done = 0;
    }
    self->done++;
    return self->turn;
}

int policy_legs(policy *self, transmit *shown, int64_t now, int size, int *answer)
{
    switch (self->kind) {
    case POLICY_BATCH:
        answer[0] = batch(self);
        return 1;
    case POLICY_DUPLICATE:
        for (int leg = 0; leg < self->legs; leg++)
            answer[leg] = leg;
        return self->legs;
    case POLICY_LEAST_DELAY:
        if (shown->waits)
            return or_wait(shown, now, size, answer);
        answer[0] = at_once(shown, now, size);
        return 1;
    case POLICY_ASKED:
        for (int leg = 0; self->python.shown != NULL && leg < self->legs; leg++)
            self->python.shown[leg] = view_of(shown, leg);
        return self->python.ask(self->python.policy, now, size, answer);
    default:
        return proportional_leg(&self->rates, shown, now, size, answer);
    }
}
