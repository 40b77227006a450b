#include "feedback.h"

#include "../base/arithmetic.h"

#define MAX_REMEMBERED (1u << 18) /* PDUs a leg, as in the twin */

void feedback_sent(feedback *self, int leg, int64_t count)
{
    sent_counts *sent = &self->sent[leg];

    sent->next_count = later(sent->next_count, count + 1);
    count_ring_push(&sent->waiting, count);
    if (count_ring_count(&sent->waiting) > MAX_REMEMBERED) {
        count_ring_pop(&sent->waiting); /* so old that the next report covers it */
        sent->covered++;
    }
}

/* How many were sent with a COUNT below `next_count`, which never descends. */
static int64_t sent_up_to(sent_counts *sent, int64_t next_count)
{
    while (count_ring_count(&sent->waiting) && *count_ring_at(&sent->waiting, 0) < next_count) {
        count_ring_pop(&sent->waiting);
        sent->covered++;
    }
    return sent->covered;
}

int feedback_take(feedback *self, int64_t number, const reception *legs, int64_t now)
{
    for (int leg = 0; leg < self->legs; leg++)
        if (legs[leg].next_count > self->sent[leg].next_count)
            return REPORT_IMPOSSIBLE;
    if (number <= self->number)
        return REPORT_STALE;
    self->number = number;
    self->at = now;
    self->has_report = 1;
    for (int leg = 0; leg < self->legs; leg++) {
        int64_t sent = sent_up_to(&self->sent[leg], legs[leg].next_count);

        self->reports[leg] = (leg_report){
            .highest_count = legs[leg].next_count - 1,
            .delivered_pdus = legs[leg].pdus,
            .delivered_bytes = legs[leg].bytes,
            .lost_pdus = later(0, sent - legs[leg].pdus),
            .reordered = legs[leg].reordered,
            .reordering_ns = legs[leg].reordering_ns,
        };
    }
    return REPORT_TAKEN;
}

int64_t feedback_next_count(const feedback *self)
{
    int64_t highest = 0;

    for (int leg = 0; leg < self->legs; leg++)
        highest = later(highest, self->sent[leg].next_count);
    return highest;
}

void feedback_end(feedback *self)
{
    for (int leg = 0; leg < self->legs; leg++)
        count_ring_free(&self->sent[leg].waiting);
}
