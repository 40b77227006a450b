#include "view.h"

int view_takes(transmit *of, int leg, int64_t now, int size)
{
    if (of->waits)
        return bearer_leg_takes(&of->access[leg], now, size);
    return bearer_leg_has_room(&of->access[leg], now, size);
}

int view_is_up(const transmit *of, int leg)
{
    return of->follows ? bearer_leg_is_up(&of->access[leg]) : leg_is_up(of->states[leg]);
}

int view_may_wait(const transmit *of)
{
    return of->waits;
}

int64_t view_backlog(transmit *of, int leg, int64_t now)
{
    return bearer_leg_backlog(&of->access[leg], now);
}

int view_has_room(transmit *of, int leg, int64_t now, int size)
{
    return bearer_leg_has_room(&of->access[leg], now, size);
}

int64_t view_drain(const transmit *of, int leg, int64_t now, int64_t more)
{
    return bearer_leg_drain(&of->access[leg], now, more);
}

int64_t view_mean_delay(const transmit *of, int leg)
{
    return bearer_leg_mean_delay(&of->access[leg]);
}

int64_t view_credit(const transmit *of, int leg)
{
    return bearer_leg_credit(&of->access[leg]);
}

int64_t view_pending_bytes(const transmit *of)
{
    return waiting_ring_count(&of->waiting) ? of->waiting_bytes - waiting_ring_at(&of->waiting, 0)->size : 0;
}

const leg_report *view_report(const transmit *of, int leg, int64_t *at)
{
    if (of->heard == NULL || !of->heard->has_report)
        return NULL;
    *at = of->heard->at;
    return &of->heard->reports[leg];
}

void view_show(const transmit *of, int leg, leg_view *shown)
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
