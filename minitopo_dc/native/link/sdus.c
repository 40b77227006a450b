#include "link.h"

static int has_packet(const sdus *self, const rlc_sdu *what)
{
    return !what->gone && (self->in_order || !what->complete);
}

void sdus_end(sdus *self)
{
    while (rlc_sdu_ring_count(&self->active)) {
        rlc_sdu first = rlc_sdu_ring_pop(&self->active);

        if (has_packet(self, &first))
            self->of->hooks.release(first.what.packet);
    }
    rlc_sdu_ring_free(&self->active);
    retransmission_ring_free(&self->again);
}

rlc_sdu *sdus_active(const sdus *self, int64_t number)
{
    rlc_sdu *at;

    if (number < self->front)
        return NULL;
    at = rlc_sdu_ring_at(&self->active, (uint64_t)(number - self->front));
    return at->gone ? NULL : at;
}

static int64_t end_number(const sdus *self)
{
    return self->front + (int64_t)rlc_sdu_ring_count(&self->active);
}

/* The queue. */

void sdus_join(sdus *self, rlc_sdu made)
{
    made.bits = made.unsent = made.missing = (made.size + self->header_bytes) * 8;
    rlc_sdu_ring_push(&self->active, made);
    self->of->counters.queue_packets++;
    self->of->counters.queue_bytes += made.size;
}

static void leave_queue(sdus *self, const rlc_sdu *what)
{
    self->of->counters.queue_packets--;
    self->of->counters.queue_bytes -= what->size;
}

void sdus_take_back(sdus *self)
{
    rlc_sdu last = rlc_sdu_ring_pop_last(&self->active);

    leave_queue(self, &last);
}

/* The first one from a number on that is in the queue, and whole if it has to be. */
static rlc_sdu *queued_from(const sdus *self, int64_t *number, int is_whole)
{
    *number = later(*number, self->front);
    for (; *number < end_number(self); ++*number) {
        rlc_sdu *at = sdus_active(self, *number);

        if (at != NULL && at->unsent && !(is_whole && at->unsent < at->bits))
            return at;
    }
    return NULL;
}

rlc_sdu *sdus_first(sdus *self)
{
    return queued_from(self, &self->first, 0);
}

rlc_sdu *sdus_first_whole(sdus *self)
{
    return queued_from(self, &self->whole, 1);
}

void sdus_send(sdus *self, rlc_sdu *what, int64_t bits)
{
    what->unsent -= bits;
    if (what->unsent)
        return;
    leave_queue(self, what);
    self->of->counters.air_packets++;
}

int64_t sdus_unsent_bits(sdus *self)
{
    const rlc_sdu *first = sdus_first(self);
    const leg_counters *in = &self->of->counters;

    if (first == NULL)
        return 0;
    return (in->queue_bytes + in->queue_packets * self->header_bytes) * 8 - first->bits + first->unsent;
}

/* The receiver. */

void sdus_give_up(sdus *self, rlc_sdu *what)
{
    what->gone = 1;
    if (what->unsent)
        leave_queue(self, what);
    else
        self->of->counters.air_packets--;
}

static void deliver(sdus *self, const rlc_sdu *what, int64_t now)
{
    leg *of = self->of;

    of->counters.air_packets--;
    if (what->lost) {
        of->counters.dropped_loss++;
        of->hooks.release(what->what.packet);
        return;
    }
    propagation_put(&of->air, now + delay_sample(&of->delay, &of->delay_random), (int)what->size, what->what);
}

void sdus_receive(sdus *self, const segment_ring *segments, int64_t now)
{
    for (uint64_t i = 0; i < segment_ring_count(segments); i++) {
        const rlc_segment *part = segment_ring_at(segments, i);
        rlc_sdu *whose = sdus_active(self, part->number);

        if (whose == NULL || (whose->missing -= part->bits))
            continue;
        whose->complete = 1;
        if (!self->in_order)
            deliver(self, whose, now);
    }
}

void sdus_release(sdus *self, int64_t now)
{
    while (rlc_sdu_ring_count(&self->active)) {
        const rlc_sdu *first = rlc_sdu_ring_at(&self->active, 0);

        if (!first->complete && !first->gone)
            return;
        if (first->complete && self->in_order)
            deliver(self, first, now);
        rlc_sdu_ring_pop(&self->active);
        self->front++;
    }
}

/* What is sent again. */

/* Move one forward to its place in the order of time. */
static void settle(retransmission_ring *line, uint64_t index)
{
    retransmission what = *retransmission_ring_at(line, index);

    for (; index && retransmission_ring_at(line, index - 1)->due > what.due; index--)
        *retransmission_ring_at(line, index) = *retransmission_ring_at(line, index - 1);
    *retransmission_ring_at(line, index) = what;
}

void sdus_put_again(sdus *self, retransmission what)
{
    retransmission_ring_push(&self->again, what);
    settle(&self->again, retransmission_ring_count(&self->again) - 1);
    self->again_bits += what.what.bits;
}

int64_t sdus_again_due(const sdus *self)
{
    return retransmission_ring_count(&self->again) ? retransmission_ring_at(&self->again, 0)->due : NEVER;
}

int sdus_has_unmissed(const sdus *self)
{
    return retransmission_ring_count(&self->again) && retransmission_ring_last(&self->again)->due == NEVER;
}

void sdus_miss(sdus *self, int64_t before, int64_t due)
{
    retransmission_ring *line = &self->again;
    uint64_t count = retransmission_ring_count(line), index = count;

    while (index && retransmission_ring_at(line, index - 1)->due == NEVER)
        index--;
    for (; index < count; index++) {
        if (retransmission_ring_at(line, index)->first < before)
            retransmission_ring_at(line, index)->due = due;
        settle(line, index);
    }
}

int sdus_take_again(sdus *self, int64_t room, int64_t begin, rlc_segment *what)
{
    retransmission *next;

    if (!room || sdus_again_due(self) > begin)
        return 0;
    next = retransmission_ring_at(&self->again, 0);
    *what = (rlc_segment){next->what.number, earlier(next->what.bits, room)};
    next->what.bits -= what->bits;
    self->again_bits -= what->bits;
    if (!next->what.bits)
        retransmission_ring_pop(&self->again);
    return 1;
}

void sdus_purge_again(sdus *self)
{
    for (uint64_t count = retransmission_ring_count(&self->again); count; count--) {
        retransmission next = retransmission_ring_pop(&self->again);

        if (sdus_active(self, next.what.number) != NULL)
            retransmission_ring_push(&self->again, next);
        else
            self->again_bits -= next.what.bits;
    }
}
