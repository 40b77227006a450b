#include "pdcp.h"

transmit *transmit_new(int sn_bits, int header, int legs, leg **states, policy *split, int reports,
                       const sdu_buffer *waiting, int early, int64_t lead, int64_t mark_above)
{
    transmit *self = zeroed(1, sizeof(*self));

    self->mask = (INT64_C(1) << sn_bits) - 1;
    self->header = header;
    self->legs = legs;
    self->split = split;
    self->waits = self->follows = waiting != NULL;
    self->early = early;
    self->buffer = waiting != NULL ? *waiting : (sdu_buffer){{0, 0}, NEVER};
    self->wake = NEVER;
    self->mark_above = mark_above;
    self->reports = reports;
    for (int i = 0; i < legs; i++)
        self->access[i] = (bearer_leg){.leg = states[i], .header = header, .lead = lead, .settled = 1, .serves = 1};
    return self;
}

/* What the receiver's reports say of them. */

enum { REPORT_TAKEN, REPORT_STALE, REPORT_IMPOSSIBLE };

#define MAX_REMEMBERED (1u << 18) /* PDUs a leg, as in the twin */

static void feedback_sent(feedback *self, int leg, int64_t count)
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
    feedback *self = &of->heard;

    for (int leg = 0; leg < of->legs; leg++)
        if (legs[leg].next_count > self->sent[leg].next_count)
            return REPORT_IMPOSSIBLE;
    if (number <= self->number)
        return REPORT_STALE;
    self->number = number;
    for (int leg = 0; leg < of->legs; leg++) {
        int64_t sent = sent_up_to(&self->sent[leg], legs[leg].next_count);

        self->reports[leg] = (leg_report){
            .number = number,
            .at = now,
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

    for (int leg = 0; leg < of->legs; leg++)
        highest = later(highest, of->heard.sent[leg].next_count);
    return highest;
}

void transmit_free(void *made)
{
    transmit *self = made;

    while (pdu_ring_count(&self->waiting))
        self->hooks.release(pdu_ring_pop(&self->waiting).sdu);
    while (pdu_ring_count(&self->ready))
        self->hooks.release(pdu_ring_pop(&self->ready).sdu);
    for (int leg = 0; leg < self->legs; leg++) {
        bearer_leg_end(&self->access[leg], &self->hooks);
        count_ring_free(&self->heard.sent[leg].waiting);
    }
    free(self->split);
    pdu_ring_free(&self->waiting);
    pdu_ring_free(&self->ready);
    free(self);
}

/* 0: it will not reach its leg. */
static int send(transmit *self, pdu what, int64_t now)
{
    self->counters.pdus[what.leg]++;
    self->counters.bytes[what.leg] += what.size;
    if (self->reports)
        feedback_sent(&self->heard, what.leg, what.count);
    if (self->follows)
        return bearer_leg_send(&self->access[what.leg], what, now);
    pdu_ring_push(&self->ready, what);
    return 1;
}

/* Mark an SDU that is expected to wait for too long, with what it has waited, on each of its legs. */
static void *marked(transmit *self, const int *legs, int legs_count, void *sdu, int64_t waited, int64_t now)
{
    int64_t least = NEVER;

    for (int i = 0; i < legs_count; i++)
        least = earlier(least, view_drain(self, legs[i], now, 0));
    if (least == NEVER || least <= self->mark_above - waited || !self->hooks.ecn(sdu))
        return sdu;
    self->counters.marked_sdus++;
    return self->hooks.mark(sdu);
}

static void send_on(transmit *self, const int *legs, int legs_count, pdu what, int64_t now)
{
    if (self->mark_above != NEVER)
        what.sdu = marked(self, legs, legs_count, what.sdu, now - what.arrived, now);
    for (int i = 1; i < legs_count; i++)
        self->hooks.keep(what.sdu);
    for (int i = 0; i < legs_count; i++) {
        what.leg = legs[i];
        if (!send(self, what, now)) {
            self->counters.dropped_xn++;
            self->hooks.release(what.sdu);
        }
    }
    if (legs_count == 0) {
        self->counters.dropped_split++;
        self->hooks.release(what.sdu);
    }
}

/* SDUs wait: their buffer, its limit and discardTimer (SduBuffer of pdcp/transmitting/buffers.py). */

static int is_full(const transmit *self, int size)
{
    int64_t packets = (int64_t)pdu_ring_count(&self->waiting), bytes = self->waiting_bytes + size;

    for (int leg = 0; leg < self->legs; leg++)
        packets += bearer_leg_queued(&self->access[leg], &bytes);
    return packets >= self->buffer.limit.packets || bytes > self->buffer.limit.bytes;
}

static int64_t discard_end(const transmit *self)
{
    if (self->buffer.discard_timer == NEVER || !pdu_ring_count(&self->waiting))
        return NEVER;
    return pdu_ring_at(&self->waiting, 0)->arrived + self->buffer.discard_timer;
}

static pdu pop_waiting(transmit *self)
{
    pdu first = pdu_ring_pop(&self->waiting);

    self->waiting_bytes -= first.size;
    return first;
}

static void expire(transmit *self, int64_t now)
{
    while (discard_end(self) <= now) {
        self->hooks.release(pop_waiting(self).sdu);
        self->counters.discarded++;
    }
}

static void settle_legs(transmit *self, int64_t now)
{
    for (int leg = 0; leg < self->legs; leg++)
        bearer_leg_settle(&self->access[leg], now);
}

static int push_waiting(transmit *self, void *sdu, int size, int64_t now)
{
    int64_t count;

    if (is_full(self, size))
        settle_legs(self, now); /* legs have fewer since they were looked at */
    expire(self, now);
    if (is_full(self, size)) {
        self->counters.dropped_buffer++;
        self->hooks.release(sdu);
        return 0;
    }
    pdu_ring_push(&self->waiting, (pdu){sdu, self->early ? self->next++ : 0, 0, size, now});
    self->waiting_bytes += size;
    count = (int64_t)pdu_ring_count(&self->waiting);
    self->counters.waiting_maximum = later(self->counters.waiting_maximum, count);
    return 1;
}

/* The leg that is up on which an SDU is expected first, the lower one of equals; -1: none. */
static int soonest(const transmit *self, int64_t now, int size)
{
    int64_t least = NEVER;
    int found = -1;

    for (int leg = 0; leg < self->legs; leg++) {
        int64_t expected = bearer_leg_is_up(&self->access[leg]) ? view_expected(self, leg, now, size) : NEVER;

        if (expected < least) {
            least = expected;
            found = leg;
        }
    }
    return found;
}

/* Those of the policy's answer that are up, or in their place the leg that is soonest; their number. */
static int select_up_legs(const transmit *self, const int *answer, int answered, int64_t now, int size, int *legs)
{
    int count = 0;

    for (int i = 0; i < answered; i++)
        if (bearer_leg_is_up(&self->access[answer[i]]))
            legs[count++] = answer[i];
    if (count || !answered)
        return count;
    legs[0] = soonest(self, now, size);
    return legs[0] >= 0;
}

static int can_send(transmit *self, const int *legs, int count, int64_t now, int size)
{
    for (int i = 0; i < count; i++)
        if (bearer_leg_takes(&self->access[legs[i]], now, size))
            return 1;
    return 0;
}

/* Ask the policy; 0: it failed. */
static int ask(transmit *self, int64_t now, int size, int *legs, int *count)
{
    *count = policy_legs(self->split, self, now, size, legs);
    self->failed = *count < 0;
    return !self->failed;
}

/* Send SDUs, first come first, as long as their legs take them. */
static void send_waiting(transmit *self, int64_t now)
{
    int legs[MAX_LEGS], count;

    expire(self, now);
    while (pdu_ring_count(&self->waiting)) {
        int size = pdu_ring_at(&self->waiting, 0)->size;
        pdu first;

        if (!self->answered && !ask(self, now, size, self->answer, &self->answered))
            return;
        count = select_up_legs(self, self->answer, self->answered, now, size, legs);
        if (!can_send(self, legs, count, now, size))
            return;
        self->answered = 0;
        first = pop_waiting(self);
        if (!self->early)
            first.count = self->next++;
        send_on(self, legs, count, first, now);
    }
}

static int64_t next_occasion(transmit *self, int64_t now)
{
    int64_t moment = discard_end(self);
    int more = pdu_ring_count(&self->waiting) > 0;

    for (int leg = 0; leg < self->legs; leg++)
        moment = earlier(moment, bearer_leg_next_timeout(&self->access[leg], now, more));
    return moment;
}

int transmit_push(transmit *self, void *sdu, int size, int64_t now)
{
    int answer[MAX_LEGS], legs[MAX_LEGS], answered, count = 0;

    if (self->waits && !self->failed)
        return push_waiting(self, sdu, size, now);
    if (self->failed || !ask(self, now, size, answer, &answered)) {
        self->hooks.release(sdu);
        return 0;
    }
    if (self->follows)
        count = select_up_legs(self, answer, answered, now, size, legs);
    send_on(self, count ? legs : answer, count ? count : answered, (pdu){sdu, self->next++, 0, size, now}, now);
    return answered > 0;
}

static void poll_legs(transmit *self, int64_t now)
{
    int64_t ready = (int64_t)pdu_ring_count(&self->ready);

    settle_legs(self, now);
    send_waiting(self, now);
    if (self->failed)
        return;
    for (int leg = 0; leg < self->legs; leg++)
        bearer_leg_arrived(&self->access[leg], &self->ready, now);
    self->reached += (int64_t)pdu_ring_count(&self->ready) - ready;
    self->wake = next_occasion(self, now);
}

void transmit_settle(transmit *self, int64_t now)
{
    if (!self->follows || self->failed)
        return;
    do /* again where a node has answered at once */
        poll_legs(self, now);
    while (!self->failed && !pdu_ring_count(&self->ready) && self->wake <= now);
}

int transmit_poll(transmit *self, pdu *what)
{
    if (!pdu_ring_count(&self->ready))
        return 0;
    *what = pdu_ring_pop(&self->ready);
    return 1;
}

int64_t transmit_next_timeout(const transmit *self)
{
    return self->wake;
}

void transmit_count(const transmit *self, transmit_counters *found)
{
    *found = self->counters;
    found->sdus = self->next;
    found->waiting = (int64_t)pdu_ring_count(&self->waiting);
    found->offered = found->sdus + found->dropped_buffer + (self->early ? 0 : found->waiting + found->discarded);
    if (!self->follows)
        return;
    found->xn_packets = -found->dropped_xn - self->reached;
    for (int leg = 0; leg < self->legs; leg++)
        found->xn_packets += found->pdus[leg];
}
