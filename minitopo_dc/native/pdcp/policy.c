#include "policy.h"

#include "../base/memory.h"
#include "least_delay.h"

static policy *of_kind(int kind, int legs)
{
    policy *self = zeroed(1, sizeof(*self));

    self->kind = kind;
    self->legs = legs;
    return self;
}

policy *policy_batch(const int64_t *shares, int legs)
{
    policy *self = of_kind(POLICY_BATCH, legs);

    memcpy(self->shares, shares, (size_t)legs * sizeof(*shares));
    return self;
}

policy *policy_duplicate(int legs)
{
    return of_kind(POLICY_DUPLICATE, legs);
}

policy *policy_least_delay(int legs)
{
    return of_kind(POLICY_LEAST_DELAY, legs);
}

policy *policy_proportional(int legs, double time_constant, double floor)
{
    policy *self = of_kind(POLICY_PROPORTIONAL, legs);

    proportional_begin(&self->rates, legs, time_constant, floor);
    return self;
}

policy *policy_asked(int (*ask)(void *policy, int64_t now, int size, int *answer), void *handle, leg_view *shown,
                     int legs)
{
    policy *self = of_kind(POLICY_ASKED, legs);

    self->python = (asked){ask, handle, shown};
    return self;
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
