#include "pdcp.h"

void outstanding_put(outstanding_pdus *self, const leg *of, int size, int64_t count)
{
    int64_t last = outstanding_ring_count(&self->pdus) ? outstanding_ring_last(&self->pdus)->number : 0;

    last = later(last, leg_joined_packets(of));
    outstanding_ring_push(&self->pdus, (outstanding){last + 1, count, size});
    self->bytes += size;
}

static void remove_bytes(outstanding_pdus *self, int size)
{
    self->bytes -= size;
    self->gone_bytes += size;
}

void outstanding_settle(outstanding_pdus *self, leg *of, int64_t now)
{
    outstanding_ring *pdus = &self->pdus;
    int64_t joined = leg_joined_packets(of), served;

    while (outstanding_ring_count(pdus) && outstanding_ring_last(pdus)->number > joined)
        remove_bytes(self, outstanding_ring_pop_last(pdus).size);
    served = leg_served_packets(of, now);
    while (outstanding_ring_count(pdus) && outstanding_ring_at(pdus, 0)->number <= served)
        remove_bytes(self, outstanding_ring_pop(pdus).size);
}

static int leg_is_empty(leg *of, int64_t now)
{
    return leg_served_packets(of, now) == leg_joined_packets(of);
}

int leg_will_serve(leg *of, int64_t now)
{
    return leg_service_end(of, now) != NEVER || leg_is_empty(of, now);
}

int64_t leg_bytes_within(leg *of, int64_t now, int64_t time)
{
    return (int64_t)wide_floor_div((wide)leg_rate_bps(of, now) * time, 8 * NS_PER_S);
}

#define MIN_PACKETS 2

void bearer_leg_end(bearer_leg *self, const packet_hooks *hooks)
{
    distant_free(self->distant, hooks);
    outstanding_ring_free(&self->inside.pdus);
    pdu_ring_free(&self->sent);
}

int64_t bearer_leg_queued(const bearer_leg *self, int64_t *bytes)
{
    *bytes += self->inside.bytes;
    for (uint64_t i = 0; i < pdu_ring_count(&self->sent); i++)
        *bytes += pdu_ring_at(&self->sent, i)->size;
    return (int64_t)(outstanding_ring_count(&self->inside.pdus) + pdu_ring_count(&self->sent));
}

void bearer_leg_settle(bearer_leg *self, int64_t now)
{
    if (self->distant != NULL) {
        distant_settle(self->distant, self->leg, &self->inside, now);
        return;
    }
    outstanding_settle(&self->inside, self->leg, now);
    self->settled = pdu_ring_count(&self->sent) == 0;
    self->serves = !leg_is_up(self->leg) || leg_will_serve(self->leg, now);
}

static int fits(bearer_leg *self, int64_t now, int size)
{
    if (!self->settled)
        return 0;
    return leg_has_room(self->leg, now, size + self->header) || leg_is_empty(self->leg, now);
}

int bearer_leg_takes(bearer_leg *self, int64_t now, int size)
{
    if (!bearer_leg_is_up(self))
        return 0;
    if (self->distant != NULL)
        return distant_has_room(self->distant, now, size);
    if (!fits(self, now, size))
        return 0;
    if (self->lead == NEVER || outstanding_ring_count(&self->inside.pdus) < MIN_PACKETS)
        return 1;
    return self->inside.bytes < leg_bytes_within(self->leg, now, later(self->lead, self->leg->slot_lead));
}

int bearer_leg_send(bearer_leg *self, pdu what, int64_t now)
{
    if (self->distant != NULL)
        return distant_send(self->distant, what, now);
    pdu_ring_push(&self->sent, what);
    self->settled = 0;
    return 1;
}

void bearer_leg_arrived(bearer_leg *self, pdu_ring *ready, int64_t now)
{
    if (self->distant != NULL)
        distant_arrived(self->distant, self->leg, &self->inside, ready, now);
    while (pdu_ring_count(&self->sent)) {
        pdu what = pdu_ring_pop(&self->sent);

        outstanding_put(&self->inside, self->leg, what.size, what.count);
        pdu_ring_push(ready, what);
    }
}

int64_t bearer_leg_next_timeout(const bearer_leg *self, int64_t now, int more)
{
    if (self->distant != NULL)
        return distant_next_timeout(self->distant, self->leg, &self->inside, now, more);
    return more ? leg_service_end(self->leg, now) : NEVER;
}

int bearer_leg_is_up(const bearer_leg *self)
{
    if (self->distant != NULL)
        return distant_is_up(self->distant);
    return leg_is_up(self->leg) && self->serves;
}

/* What the receiver's reports say of them. */

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

int transmit_report(transmit *of, int64_t number, const reception *legs, int64_t now)
{
    feedback *self = of->heard;

    for (int leg = 0; leg < self->legs; leg++)
        if (legs[leg].next_count > self->sent[leg].next_count)
            return REPORT_IMPOSSIBLE;
    if (number <= self->number)
        return REPORT_STALE;
    self->number = number;
    self->at = now;
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

int64_t transmit_next_count(const transmit *of)
{
    int64_t highest = 0;

    for (int leg = 0; of->heard != NULL && leg < of->legs; leg++)
        highest = later(highest, of->heard->sent[leg].next_count);
    return highest;
}

void feedback_end(feedback *self)
{
    for (int leg = 0; leg < self->legs; leg++)
        count_ring_free(&self->sent[leg].waiting);
}
