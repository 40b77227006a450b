/* A leg that serves packet by packet. */
#include "link.h"

static void end(leg *self)
{
    while (queue_ring_count(&self->plain.queue))
        self->hooks.release(queue_ring_pop(&self->plain.queue).what.packet);
    queue_ring_free(&self->plain.queue);
}

static queued *head(const leg *self)
{
    return queue_ring_at(&self->plain.queue, 0);
}

static queued left_queue(leg *self, queued what)
{
    self->counters.queue_packets--;
    self->counters.queue_bytes -= what.size;
    return what;
}

static void serialise(leg *self, int64_t start)
{
    int64_t finish = capacity_finish(self->capacity, start - self->zero, self->plain.head_bits);

    if (finish == NEVER)
        self->stopped = 1;
    else
        self->plain.finish = narrow((wide)finish + self->zero);
}

/* Let the discipline say which packet is the first, and mark or drop it; 0: none is left. */
static int choose(leg *self, int64_t now)
{
    const discipline *of = self->discipline;

    while (of != NULL && self->counters.queue_packets) {
        uint64_t index = of->kind->choose ? of->kind->choose(self->discipline, &self->plain.queue, now) : 0;
        queued chosen = *queue_ring_at(&self->plain.queue, index);
        int ecn = leg_dequeue(self, &chosen.what, chosen.size, chosen.ecn, now - chosen.pushed, now);

        for (; index; index--)
            *queue_ring_at(&self->plain.queue, index) = *queue_ring_at(&self->plain.queue, index - 1);
        *head(self) = chosen;
        if (ecn >= 0)
            return 1;
        left_queue(self, queue_ring_pop(&self->plain.queue));
        leg_drop(self, chosen.what, chosen.lost);
        if (!chosen.lost)
            self->news = now;
    }
    return self->counters.queue_packets > 0;
}

/* The queue has a new first packet. */
static void begin_service(leg *self, int64_t start)
{
    self->plain.head_bits = (int64_t)head(self)->size * 8;
    self->plain.head_delay = delay_sample(&self->delay, &self->delay_random);
    if (self->up)
        serialise(self, start);
}

/* Serialise up to `now`, packet after packet. */
static void advance(leg *self, int64_t now)
{
    while (self->plain.finish <= now) {
        int64_t finish = self->plain.finish;
        queued first = left_queue(self, queue_ring_pop(&self->plain.queue));

        if (first.lost) {
            self->counters.dropped_loss++;
            self->hooks.release(first.what.packet);
        } else {
            propagation_put(&self->air, finish + self->plain.head_delay, first.size, first.what);
        }
        self->plain.finish = NEVER;
        if (choose(self, finish))
            begin_service(self, finish);
    }
}

static int64_t join(leg *self, carried what, int size, int lost, int ecn, int64_t now)
{
    if (self->stopped) /* also for what is so small that it would still have passed */
        return 0;
    queue_ring_push(&self->plain.queue, (queued){what, size, (short)lost, (short)ecn, self->counters.joined_packets, now});
    self->counters.queue_packets++;
    self->counters.queue_bytes += size;
    if (self->counters.queue_packets == 1) {
        if (!choose(self, now))
            return 1;
        begin_service(self, self->plain.granted = now + self->is.grant_ns);
    }
    if (self->stopped)
        left_queue(self, queue_ring_pop_last(&self->plain.queue));
    return self->counters.queue_packets;
}

static void pause(leg *self, int64_t now)
{
    advance(self, now);
    if (self->plain.finish != NEVER) {
        int64_t bits = capacity_interrupt(self->capacity, now - self->zero);

        if (now >= self->plain.granted)
            self->plain.head_bits = bits;
        self->plain.finish = NEVER;
    }
    self->stopped = 0;
}

/* Go on with the packet that was interrupted, or the one that came first meanwhile. */
static void resume(leg *self, int64_t now)
{
    if (self->up && self->counters.queue_packets)
        serialise(self, later(now, self->plain.granted));
}

static int64_t next_timeout(const leg *self)
{
    const plain *own = &self->plain;
    int64_t first = propagation_first(&self->air);

    if (own->finish == NEVER)
        return first;
    if (self->air.overtakes) /* the packet behind the one in service may overtake it */
        return earlier(first, own->finish);
    if (first != NEVER)
        return first;
    return head(self)->lost ? own->finish : own->finish + own->head_delay;
}

static int64_t first_number(leg *self)
{
    int64_t first = self->counters.queue_packets ? head(self)->number : 0;

    if (first && self->discipline != NULL && self->discipline->kind->choose != NULL)
        for (uint64_t i = 1; i < queue_ring_count(&self->plain.queue); i++)
            first = earlier(first, queue_ring_at(&self->plain.queue, i)->number);
    return first;
}

static void delay_changed(leg *self)
{
    self->plain.head_delay = self->counters.queue_packets ? delay_sample(&self->delay, &self->delay_random) : 0;
}

static int64_t backlog_bytes(leg *self, int64_t now)
{
    int64_t bits;

    if (!self->counters.queue_packets)
        return 0;
    if (self->plain.finish == NEVER || now < self->plain.granted)
        bits = self->plain.head_bits;
    else
        bits = capacity_left(self->capacity, now - self->zero);
    return self->counters.queue_bytes - head(self)->size - floor_div(-bits, 8);
}

static int64_t service_end(leg *self)
{
    return self->plain.finish;
}

const leg_kind plain_leg = {
    .end = end,
    .advance = advance,
    .join = join,
    .next_timeout = next_timeout,
    .pause = pause,
    .resume = resume,
    .delay_changed = delay_changed,
    .backlog_bytes = backlog_bytes,
    .first = first_number,
    .service_end = service_end,
};
