#include "least_delay.h"

#include "view.h"

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
        is_full = !leg_has_room(shown->states[leg], now, size);
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

int least_delay(transmit *shown, int64_t now, int size, int *answer)
{
    if (view_may_wait(shown))
        return or_wait(shown, now, size, answer);
    answer[0] = at_once(shown, now, size);
    return 1;
}
