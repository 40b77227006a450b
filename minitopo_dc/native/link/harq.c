#include "link.h"

void harq_end(harq *self)
{
    while (block_ring_count(&self->waiting)) {
        block first = block_ring_pop(&self->waiting);

        segment_ring_free(&first.segments);
    }
    block_ring_free(&self->waiting);
}

int64_t harq_first_due(const harq *self)
{
    return block_ring_count(&self->waiting) ? block_ring_at(&self->waiting, 0)->due : NEVER;
}

int64_t harq_resend(harq *self, int64_t room, int64_t begin, block_ring *sent)
{
    while (room && harq_first_due(self) <= begin) {
        block *first = block_ring_at(&self->waiting, 0);
        int64_t bits = earlier(room, first->unsent);

        first->unsent -= bits;
        room -= bits;
        if (first->unsent)
            break;
        self->counters->harq_retransmissions++;
        first->retransmissions++;
        block_ring_push(sent, block_ring_pop(&self->waiting));
    }
    return room;
}

block harq_new_block(harq *self, segment_ring segments, int64_t begin)
{
    block made = {.segments = segments, .first = begin, .due = begin, .missed = NEVER, .fate = rng_random(&self->random)};

    for (uint64_t i = 0; i < segment_ring_count(&segments); i++)
        made.bits += segment_ring_at(&segments, i)->bits;
    self->counters->blocks++;
    return made;
}

int harq_outcome(harq *self, block *what, int64_t again)
{
    if (what->fate >= self->error)
        return DECODED;
    what->fate /= self->error;
    if (what->retransmissions == self->limit) {
        self->counters->harq_failures++;
        return GIVEN_UP;
    }
    what->unsent = what->bits;
    what->due = again;
    block_ring_push(&self->waiting, *what);
    return AGAIN;
}

void harq_miss(harq *self, int64_t before, int64_t begin)
{
    for (uint64_t i = 0; i < block_ring_count(&self->waiting); i++) {
        block *at = block_ring_at(&self->waiting, i);

        if (at->first < before)
            at->missed = earlier(at->missed, begin);
    }
}
