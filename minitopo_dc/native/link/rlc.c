/* A leg with RLC and HARQ: the twin of link/rlc/leg.py, which has the rules. */
#include "link.h"

#define STATUS_BITS (8 * 5) /* with and beside NACKs of 8 bytes: STATUS_BYTES and NACK_BYTES of the twin */
#define NACK_BITS (8 * 8)

/* HARQ of one direction: the twin of link/rlc/harq.py, which has the rules. */

/* A transport block. */
typedef struct {
    segment_ring segments;
    int64_t bits;
    int64_t first; /* when its first transmission began */
    int64_t due;   /* when it may be sent next */
    int64_t missed; /* when the slot began by which the receiver knows that it lacks the block, or NEVER */
    int64_t unsent, retransmissions;
    double fate; /* a transmission fails where it is below the error probability */
} block;

DEFINE_RING(block_ring, block)

typedef struct {
    leg_counters *counters;
    double error;
    int64_t limit;
    rng random;
    block_ring waiting; /* in order of `due` */
} harq;

static int64_t harq_first_due(const harq *self)
{
    return block_ring_count(&self->waiting) ? block_ring_at(&self->waiting, 0)->due : NEVER;
}

/* Use a slot for what is due; what is sent to its end is in `sent`. The room left, in bits. */
static int64_t harq_resend(harq *self, int64_t room, int64_t begin, block_ring *sent)
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

/* The block takes the segments over. */
static block harq_new_block(harq *self, segment_ring segments, int64_t begin)
{
    block made = {.segments = segments, .first = begin, .due = begin, .missed = NEVER, .fate = rng_random(&self->random)};

    for (uint64_t i = 0; i < segment_ring_count(&segments); i++)
        made.bits += segment_ring_at(&segments, i)->bits;
    self->counters->blocks++;
    return made;
}

enum { DECODED, AGAIN, GIVEN_UP };

/* What became of a transmission; AGAIN: HARQ has the block now, and sends it from `again` on. */
static int harq_outcome(harq *self, block *what, int64_t again)
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

/* Let the receiver miss what was sent first before a moment, by the slot from `begin` on. */
static void harq_miss(harq *self, int64_t before, int64_t begin)
{
    for (uint64_t i = 0; i < block_ring_count(&self->waiting); i++) {
        block *at = block_ring_at(&self->waiting, i);

        if (at->first < before)
            at->missed = earlier(at->missed, begin);
    }
}

/* The leg. */

struct rlc {
    rlc_parameters is;
    sdus sdus;
    harq harq;
    block_ring sent;     /* in the slot that is being used */
    int64_t free;        /* from when on slots can be used */
    int64_t granted;     /* from when on the queue is sent */
    leg *other;          /* direction, if it has RLC too; or NULL */
    int64_t begin, room; /* of the next slot with work; what it carries, in bits */
    int64_t wake;        /* when something happens */
    int64_t starts[161]; /* the capacity's time at the begin of each slot of a period, and of the whole */
    int64_t nacks;       /* of blocks that HARQ has given up since the last report of the receiver */
    int64_t reported;    /* the slot of the latest report that this direction has carried */
    leg_shown *shown, own; /* `own`, or memory of several processes */
};

static void end(leg *self)
{
    block_ring *waiting = &self->rlc->harq.waiting;

    sdus_end(&self->rlc->sdus);
    while (block_ring_count(waiting)) {
        block first = block_ring_pop(waiting);

        segment_ring_free(&first.segments);
    }
    block_ring_free(waiting);
    block_ring_free(&self->rlc->sent);
    free(self->rlc);
}

/* Slots. */

/* `time` from the begin of a pattern. */
static int64_t since_origin(const leg *self, wide time)
{
    return narrow(time - self->zero + self->rlc->is.phase_ns);
}

/* The number in its pattern of the slot that begins at `begin`. */
static int64_t place(const leg *self, int64_t begin)
{
    int64_t number = floor_div(since_origin(self, begin), self->rlc->is.slot_ns), count = self->rlc->is.tdd.slots;

    return number - floor_div(number, count) * count;
}

static int64_t step_to(int64_t from, int64_t period)
{
    return -from - floor_div(-from, period) * period;
}

/* The begin of the first slot of the direction that does not begin before `time`. */
static int64_t following(const leg *self, int64_t time)
{
    const rlc_parameters *is = &self->rlc->is;
    int64_t begin = narrow((wide)time + step_to(since_origin(self, time), is->slot_ns));

    return is->tdd.slots ? begin + is->tdd.skips[place(self, begin)] * is->slot_ns : begin;
}

/* The first occasion of a scheduling request that is not before `time`. */
static int64_t requested(const leg *self, int64_t time)
{
    const rlc_parameters *is = &self->rlc->is;
    int64_t first = is->tdd.request_slot * is->slot_ns;

    return is->sr_ns ? narrow((wide)time + step_to(since_origin(self, time) - first, is->sr_ns)) : time;
}

/* When a block of the slot that begins at `begin` may be sent again. */
static int64_t again(const leg *self, int64_t begin)
{
    const rlc_parameters *is = &self->rlc->is;

    return begin + (is->tdd.slots ? is->tdd.rounds[place(self, begin)] * is->slot_ns : is->harq_rtt_ns);
}

static int64_t slot_end(const leg *self, int64_t begin)
{
    return begin == NEVER ? NEVER : narrow((wide)begin + self->rlc->is.slot_ns);
}

/* The capacity's time at the begin of a slot: it runs while slots of the direction do. */
static int64_t capacity_time(const leg *self, wide begin)
{
    const rlc *own = self->rlc;
    int64_t time = narrow(begin - self->zero), period = own->is.slot_ns * own->is.tdd.slots, into;

    if (!period)
        return time;
    into = since_origin(self, begin);
    into -= floor_div(into, period) * period;
    return time - into + own->starts[into / own->is.slot_ns];
}

static wide bits_until(const leg *self, wide begin)
{
    return capacity_bits_until(self->capacity, capacity_time(self, begin));
}

/* The begin of the first slot from `begin` on that carries a bit, with its room; NEVER: there is none. */
static int64_t carrying(leg *self, int64_t begin)
{
    int64_t length = self->rlc->is.slot_ns, through;
    wide work = bits_until(self, begin), low = 2, high;

    self->rlc->room = narrow(bits_until(self, (wide)begin + length) - work);
    if (self->rlc->room > 0)
        return begin;
    through = capacity_first_bit(self->capacity, capacity_time(self, begin));
    if (through == NEVER)
        return NEVER;
    high = wide_floor_div((wide)through + self->zero + length * self->rlc->is.tdd.slots - begin, length) + 1;
    while (low < high) {
        wide middle = (low + high) / 2;

        if (bits_until(self, begin + middle * length) > work)
            high = middle;
        else
            low = middle + 1;
    }
    self->rlc->room = narrow(bits_until(self, begin + low * length) - work);
    return narrow(begin + (low - 1) * length);
}

/* What happens next. */

static int64_t expiry(leg *self)
{
    const rlc_sdu *first = self->rlc->is.discard_ns == NEVER ? NULL : sdus_first_whole(&self->rlc->sdus);

    return first == NULL ? NEVER : following(self, first->pushed + self->rlc->is.discard_ns);
}

/* From when on an SDU of the queue may be sent. */
static int64_t sendable(const leg *self, const rlc_sdu *what)
{
    return later(what->pushed, self->rlc->granted);
}

/* When what the receiver does not miss is sent again, if no new block is sent. */
static int64_t polled(const leg *self)
{
    return self->rlc->shown->active + self->rlc->is.status_ns;
}

/* From when on there is something to send. */
static int64_t ready(leg *self)
{
    const rlc_sdu *first = sdus_first(&self->rlc->sdus);
    int64_t repeated = earlier(harq_first_due(&self->rlc->harq), sdus_again_due(&self->rlc->sdus));

    if (sdus_has_unmissed(&self->rlc->sdus))
        repeated = earlier(repeated, polled(self));
    return first == NULL ? repeated : earlier(sendable(self, first), repeated);
}

/* Find the next slot with work, and when something happens next. */
static void plan(leg *self)
{
    rlc *own = self->rlc;
    int64_t from = ready(self);

    own->shown->busy = from != NEVER;
    if (!self->up)
        from = NEVER;
    own->begin = from == NEVER ? NEVER : carrying(self, following(self, later(from, later(own->free, self->since))));
    self->stopped = from != NEVER && own->begin == NEVER;
    own->wake = earlier(slot_end(self, own->begin), expiry(self));
}

/* What is given up. */

static void drop(leg *self, rlc_sdu *what)
{
    sdus_give_up(&self->rlc->sdus, what);
    leg_drop(self, what->what, what->lost);
}

/* Drop the SDUs whose discardTimer has expired before a slot that begins by `now`. */
static void discard(leg *self, int64_t now)
{
    while (expiry(self) <= now) {
        self->counters.dropped_discard++;
        drop(self, sdus_first_whole(&self->rlc->sdus));
    }
}

static int is_last_try(const rlc *self, const rlc_sdu *what)
{
    return !self->is.acknowledged || what->retransmitted > self->is.max_retx_threshold;
}

/* Count the retransmission of what was in a block that HARQ gave up, and drop it if there is none. */
static void count_failure(leg *self, const block *what)
{
    rlc *own = self->rlc;
    int64_t dropped = self->counters.dropped_radio, failure = self->counters.harq_failures;

    for (uint64_t i = 0; i < segment_ring_count(&what->segments); i++) {
        rlc_sdu *whose = sdus_active(&own->sdus, segment_ring_at(&what->segments, i)->number);

        if (whose == NULL || whose->failure == failure)
            continue;
        whose->failure = failure;
        whose->retransmitted++;
        if (is_last_try(own, whose)) {
            self->counters.dropped_radio++;
            drop(self, whose);
        }
    }
    if (self->counters.dropped_radio > dropped)
        sdus_purge_again(&own->sdus);
}

/* When the receiver has reported that it lacks what HARQ gave up; NEVER: it does not miss it yet. */
static int64_t reported(const rlc *own, const block *what, const rlc_sdu *whose, int64_t now)
{
    if (whose->retransmitted > 1)
        return now + own->is.status_prohibit_ns;
    return what->missed == NEVER ? NEVER : later(now, what->missed + own->is.status_ns);
}

/* Let RLC send again what HARQ gave up. */
static void given_up(leg *self, const block *what, int64_t now)
{
    rlc *own = self->rlc;

    own->nacks++;
    count_failure(self, what);
    for (uint64_t i = 0; i < segment_ring_count(&what->segments); i++) {
        const rlc_segment *part = segment_ring_at(&what->segments, i);
        const rlc_sdu *whose = sdus_active(&own->sdus, part->number);

        if (whose != NULL)
            sdus_put_again(&own->sdus, (retransmission){reported(own, what, whose, now), what->first, *part});
    }
}

/* Status reports. */

static void run(leg *self, int64_t until);

/* Let the receiver report at `now`, unless a report to come has what it knows. */
static void report(leg *self, int64_t now)
{
    rlc *own = self->rlc;
    leg_shown *shown = own->shown;
    int64_t last = shown->slot;

    if (own->other == NULL || !own->is.acknowledged || now <= last)
        return;
    shown->slot_before = last;
    shown->bits_before = shown->bits;
    shown->slot = following(own->other, later(now, last + own->is.status_prohibit_ns));
    shown->bits = STATUS_BITS + NACK_BITS * own->nacks;
    own->nacks = 0;
}

static int carries(rlc *own, int64_t slot, int64_t begin)
{
    int is_late = own->reported < slot && slot < begin && own->shown != &own->own;
    if (!is_late && slot != begin)
        return 0;
    own->reported = slot;
    return 1;
}

/* The bits of the other direction's report that the slot from `begin` on carries. */
static int64_t status(leg *self, int64_t begin)
{
    rlc *own = self->rlc;
    const leg_shown *shown;

    if (own->other == NULL)
        return 0;
    run(own->other, begin);
    shown = own->other->rlc->shown;
    if (carries(own, shown->slot, begin))
        return shown->bits;
    return carries(own, shown->slot_before, begin) ? shown->bits_before : 0;
}

/* DRX. */

/* When the terminal was active last: it is while it has something to send. */
static int64_t activity(leg *self, int64_t now)
{
    leg *other = self->rlc->other;

    if (other == NULL)
        return self->rlc->shown->active;
    run(other, now);
    return later(self->rlc->shown->active, other->rlc->shown->busy ? now : other->rlc->shown->active);
}

static int64_t listening(int64_t time, int64_t cycle, int64_t on)
{
    int64_t into = time - floor_div(time, cycle) * cycle;

    return into < on ? time : time - into + cycle;
}

/* When the terminal listens from `now` on. */
static int64_t heard(leg *self, int64_t now)
{
    const drx_cycles *drx = &self->rlc->is.drx;
    int64_t time = since_origin(self, now), latest = activity(self, now), asleep, changes, moment;

    if (latest != INT64_MIN && time < since_origin(self, latest) + drx->inactivity_ns)
        return now;
    asleep = latest == INT64_MIN ? INT64_MIN : since_origin(self, latest) + drx->inactivity_ns;
    changes = asleep == INT64_MIN ? asleep : asleep + drx->short_ns * drx->short_cycles;
    if (time < changes) {
        moment = listening(time, drx->short_ns, drx->on_ns);
        if (moment < changes)
            return now + moment - time;
    }
    return now + listening(later(time, changes), drx->cycle_ns, drx->on_ns) - time;
}

/* Using a slot. */

/* Ask the queue's discipline of an SDU of which nothing was sent; 0: it is dropped. */
static int passes(leg *self, rlc_sdu *what, int64_t begin)
{
    int size = (int)what->size;

    if (self->discipline == NULL || what->unsent < what->bits)
        return 1;
    if (leg_dequeue(self, &what->what, size, what->ecn, begin - what->pushed, begin) >= 0)
        return 1;
    drop(self, what);
    return 0;
}

/* The segments that a new block of `room` bits carries. */
static segment_ring next_segments(leg *self, int64_t room, int64_t begin)
{
    segment_ring found = {NULL, 0, 0, 0};
    sdus *from = &self->rlc->sdus;
    rlc_segment part;
    rlc_sdu *first;

    while (sdus_take_again(from, room, begin, &part)) {
        self->counters.rlc_retransmissions++;
        room -= part.bits;
        segment_ring_push(&found, part);
    }
    while (room && (first = sdus_first(from)) != NULL && sendable(self, first) <= begin) {
        if (!passes(self, first, begin))
            continue;
        part = (rlc_segment){first->number, earlier(room, first->unsent)};
        sdus_send(from, first, part.bits);
        room -= part.bits;
        segment_ring_push(&found, part);
    }
    return found;
}

/* Let the receiver miss what was sent before a block that was decoded at `now`. */
static void miss(rlc *own, const block *decoded, int64_t begin, int64_t now)
{
    harq_miss(&own->harq, decoded->first, begin);
    sdus_miss(&own->sdus, decoded->first, later(now, begin + own->is.status_ns));
}

/* Learn what became of a block. */
static void conclude(leg *self, block *what, int64_t begin)
{
    int64_t now = slot_end(self, begin);

    switch (harq_outcome(&self->rlc->harq, what, again(self, begin))) {
    case AGAIN:
        return;
    case DECODED:
        sdus_receive(&self->rlc->sdus, &what->segments, now);
        miss(self->rlc, what, begin, now);
        report(self, now);
        break;
    default:
        given_up(self, what, now);
    }
    segment_ring_free(&what->segments);
}

static void carry(leg *self, int64_t begin)
{
    rlc *own = self->rlc;
    int64_t now = slot_end(self, begin);
    int64_t room = own->room, control = status(self, begin);
    segment_ring segments;

    discard(self, begin);
    own->free = now;
    room = harq_resend(&own->harq, room, begin, &own->sent);
    room -= earlier(room, control);
    if (sdus_has_unmissed(&own->sdus) && begin >= polled(self))
        sdus_miss(&own->sdus, NEVER, begin);
    segments = next_segments(self, room, begin);
    if (segment_ring_count(&segments)) {
        own->shown->active = begin;
        block_ring_push(&own->sent, harq_new_block(&own->harq, segments, begin));
    }
    while (block_ring_count(&own->sent)) {
        block first = block_ring_pop(&own->sent);

        conclude(self, &first, begin);
    }
    sdus_release(&own->sdus, now);
}

/* Run all slots that have ended by `until`. */
static void run(leg *self, int64_t until)
{
    if (self->rlc->wake > until)
        return;
    while (slot_end(self, self->rlc->begin) <= until) {
        carry(self, self->rlc->begin);
        plan(self);
    }
    discard(self, until);
    plan(self);
}

static void advance(leg *self, int64_t now)
{
    run(self, now);
    if (self->dropped)
        self->news = now;
}

/* What any leg has. */

static int64_t join(leg *self, carried what, int size, int lost, int ecn, int64_t now)
{
    sdus *of = &self->rlc->sdus;

    if ((self->is.grant_ns || self->rlc->is.sr_ns || self->rlc->is.drx.cycle_ns) && ready(self) == NEVER)
        self->rlc->granted = requested(self, self->rlc->is.drx.cycle_ns ? heard(self, now) : now) + self->is.grant_ns;
    sdus_join(of, (rlc_sdu){.what = what, .number = self->counters.joined_packets, .size = size, .pushed = now, .lost = lost, .ecn = ecn});
    if (self->counters.queue_packets <= 2) /* behind an SDU that is partly sent, discardTimer has a new first */
        plan(self);
    if (!self->stopped)
        return self->counters.queue_packets;
    sdus_take_back(of);
    plan(self);
    return 0;
}

static int64_t next_timeout(const leg *self)
{
    int64_t first = propagation_first(&self->air);

    if (first == NEVER)
        return self->rlc->wake;
    return self->air.overtakes ? earlier(first, self->rlc->wake) : first;
}

static void resume(leg *self, int64_t now)
{
    (void)now;
    plan(self);
}

static int64_t backlog_bytes(leg *self, int64_t now)
{
    sdus *of = &self->rlc->sdus;

    (void)now;
    return -floor_div(-(sdus_unsent_bits(of) + of->again_bits), 8);
}

static int64_t first_number(leg *self)
{
    const rlc_sdu *first = sdus_first(&self->rlc->sdus);

    return first == NULL ? 0 : first->number;
}

/* The end of the next slot that may carry data of the queue. */
static int64_t service_end(leg *self)
{
    const rlc_sdu *first = sdus_first(&self->rlc->sdus);

    if (first == NULL || self->rlc->begin == NEVER)
        return NEVER;
    return slot_end(self, later(self->rlc->begin, following(self, sendable(self, first))));
}

static const leg_kind rlc_leg = {
    .end = end,
    .advance = advance,
    .join = join,
    .next_timeout = next_timeout,
    .pause = advance,
    .resume = resume,
    .backlog_bytes = backlog_bytes,
    .first = first_number,
    .service_end = service_end,
};

void leg_set_rlc(leg *self, const rlc_parameters *is, const uint32_t *block_random)
{
    rlc *made = zeroed(1, sizeof(*made));

    made->is = *is;
    made->harq = (harq){.counters = &self->counters, .limit = is->harq_retransmissions};
    rng_set(&made->harq.random, block_random);
    made->free = made->granted = made->reported = INT64_MIN;
    made->own = (leg_shown){INT64_MIN, 0, INT64_MIN, 0, INT64_MIN, 0};
    made->shown = &made->own;
    made->begin = made->wake = NEVER;
    for (int64_t slot = 0; slot <= is->tdd.slots && is->tdd.slots; slot++)
        made->starts[slot] =
            narrow((wide)is->slot_ns * is->tdd.slots * is->tdd.before[slot] / is->tdd.before[is->tdd.slots]);
    made->sdus = (sdus){self, is->in_order, is->header_bytes, .front = 1, .first = 1, .whole = 1};
    self->rlc = made;
    self->slot_lead = is->slot_lead_ns;
    self->kind = &rlc_leg;
}

void leg_pair(leg *self, leg *other)
{
    if (self->rlc != NULL && other->rlc != NULL)
        self->rlc->other = other;
}

void leg_share(leg *self, leg_shown *memory)
{
    if (self->rlc != NULL)
        self->rlc->shown = memory;
}

void leg_set_block_error(leg *self, double error, int64_t mean_wait, int64_t now)
{
    advance(self, now);
    self->rlc->harq.error = error;
    self->repetitions = mean_wait;
}
