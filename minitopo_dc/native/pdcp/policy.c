#include "pdcp.h"

int view_takes(transmit *of, int leg, int64_t now, int size)
{
    if (of->waits)
        return bearer_leg_takes(&of->access[leg], now, size);
    return view_has_room(of, leg, now, size);
}

static int view_is_up(const transmit *of, int leg)
{
    return of->follows ? bearer_leg_is_up(&of->access[leg]) : leg_is_up(of->access[leg].leg);
}

int64_t view_backlog(transmit *of, int leg, int64_t now)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? distant_backlog(at->distant, now) : leg_backlog_bytes(at->leg, now);
}

int view_has_room(transmit *of, int leg, int64_t now, int size)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? distant_has_room(at->distant, now, size) : leg_has_room(at->leg, now, size);
}

int64_t view_drain(const transmit *of, int leg, int64_t now, int64_t more)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? distant_drain(at->distant, now, more) : leg_drain_ns(at->leg, now, more);
}

int64_t view_mean_delay(const transmit *of, int leg)
{
    const bearer_leg *at = &of->access[leg];

    return at->distant != NULL ? at->distant->mean_delay : leg_mean_delay(at->leg);
}

int64_t view_credit(const transmit *of, int leg)
{
    const distant_leg *distant = of->access[leg].distant;

    return distant != NULL ? distant_credit(distant) : NEVER;
}

static int64_t view_pending_bytes(const transmit *of)
{
    return pdu_ring_count(&of->waiting) ? of->waiting_bytes - pdu_ring_at(&of->waiting, 0)->size : 0;
}

const leg_report *view_report(const transmit *of, int leg, int64_t *at)
{
    if (of->heard == NULL || !of->heard->number)
        return NULL;
    *at = of->heard->at;
    return &of->heard->reports[leg];
}

static void view_show(const transmit *of, int leg, leg_view *shown)
{
    int64_t at = 0;
    const leg_report *report = view_report(of, leg, &at);

    shown->of = (transmit *)of;
    shown->is_up = view_is_up(of, leg);
    shown->pending_bytes = view_pending_bytes(of);
    shown->sent_pdus = of->counters.pdus[leg];
    shown->sent_bytes = of->counters.bytes[leg];
    if (report == NULL)
        return;
    shown->report_number = of->heard->number;
    shown->reported_at = at;
    shown->report = *report;
}

unsigned candidates(transmit *of, int64_t now, int size)
{
    unsigned taking = 0, moving = 0, up = 0, found;

    for (int leg = 0; leg < of->legs; leg++) {
        taking |= (unsigned)view_takes(of, leg, now, size) << leg;
        moving |= (unsigned)(view_drain(of, leg, now, 0) != NEVER) << leg;
        up |= (unsigned)view_is_up(of, leg) << leg;
    }
    found = moving ? taking & moving : taking & up;
    if (found || of->waits)
        return found;
    return moving ? moving : (1u << of->legs) - 1;
}

policy *policy_new(int kind, int legs, const double *numbers)
{
    policy *self = zeroed(1, sizeof(*self));

    self->kind = kind;
    self->legs = legs;
    for (int leg = 0; kind == POLICY_BATCH && leg < legs; leg++)
        self->shares[leg] = (int64_t)numbers[leg];
    if (kind == POLICY_PROPORTIONAL)
        proportional_begin(&self->rates, legs, numbers[0], numbers[1]);
    return self;
}

policy *policy_asked(int (*ask)(void *policy, int64_t now, int size, int *answer), void *handle, leg_view *shown,
                     int legs)
{
    policy *self = policy_new(POLICY_ASKED, legs, NULL);

    self->python = (asked){ask, handle, shown};
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

static int lowest(unsigned legs, int *answer)
{
    for (int leg = 0; leg < MAX_LEGS; leg++)
        if (legs >> leg & 1u) {
            answer[0] = leg;
            return 1;
        }
    return 0;
}

/* Earliest completion first; 0: the SDU had better wait. */
static int or_wait(transmit *shown, int64_t now, int size, int *answer)
{
    int64_t best_delay = NEVER, taking_delay = NEVER, alone;
    int best = -1, taking = -1;

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
    if (best < 0)
        return lowest(candidates(shown, now, size), answer);
    if (taking < 0)
        return 0;
    answer[0] = taking;
    if (taking_delay == best_delay)
        return 1;
    alone = view_expected(shown, best, now, size + view_pending_bytes(shown));
    return taking_delay <= alone;
}

static int least_delay(transmit *shown, int64_t now, int size, int *answer)
{
    if (shown->waits)
        return or_wait(shown, now, size, answer);
    answer[0] = at_once(shown, now, size);
    return 1;
}

static int asked_legs(asked *self, const transmit *shown, int64_t now, int size, int *answer)
{
    if (self->shown != NULL)
        for (int leg = 0; leg < shown->legs; leg++)
            view_show(shown, leg, &self->shown[leg]);
    return self->ask(self->policy, now, size, answer);
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
        return least_delay(shown, now, size, answer);
    case POLICY_ASKED:
        return asked_legs(&self->python, shown, now, size, answer);
    default:
        return proportional_leg(&self->rates, shown, now, size, answer);
    }
}
