#include "outstanding.h"

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

int leg_is_empty(leg *of, int64_t now)
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
