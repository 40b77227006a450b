/* Legs and bearers over real packets: twins of real/element/drivers.py and real/element/transmit_driver.py. */
#include "element.h"

#include "ip.h"

static void drop(datagram *what)
{
    datagram_release(what);
}

/* Legs. */

static void put_on_leg(element_leg *self, datagram *what, int64_t sn, int size, int64_t now)
{
    if (leg_push(self->leg, (carried){what, sn}, size, now) == LEG_REFUSED)
        drop(what);
    element_wake(self->of, leg_next_timeout(self->leg));
}

static void take_departing(void *of, datagram *what, int64_t now)
{
    element_leg *self = of;
    int size = ip_size_on_leg(what->ip, what->length);

    if (size < 0) {
        self->counters->malformed++;
        drop(what);
        return;
    }
    put_on_leg(self, what, -1, size, now);
}

static int64_t leg_due(const void *of)
{
    return leg_next_timeout(((const element_leg *)of)->leg);
}

/* The verdict first, so that the capture delays no packet that is due. */
static void accept_captured(capture *self, datagram *what, int64_t now)
{
    what->shares++;
    datagram_accept(what);
    if (what->form == NULL)
        capture_packet(self, what->ip, what->length, now);
    else
        capture_pdu(self, what->form, what->ip, what->length, now);
    datagram_release(what);
}

static void leg_handle(void *of, int64_t now)
{
    element_leg *self = of;
    carried what;

    while (leg_poll(self->leg, now, &what))
        if (self->capture == NULL)
            datagram_accept(what.packet);
        else
            accept_captured(self->capture, what.packet, now);
}

static void leg_end_of(void *object)
{
    element_leg *self = object;

    leg_free(self->leg);
    free(self);
}

element_leg *element_add_leg(element *self, leg *of, int number, element_counters *counters)
{
    element_leg *made = zeroed(1, sizeof(*made));

    *made = (element_leg){self, of, THROUGH_LEG | (uint32_t)number, {-1, -1}, NULL, counters};
    of->hooks = datagram_hooks();
    element_add_part(self, (timed_part){leg_due, leg_handle, made}, 0);
    element_own(self, made, leg_end_of);
    return made;
}

void element_leg_queue(element_leg *self, int queue)
{
    self->of->queues[queue] = (nf_queue){take_departing, self};
}

void element_leg_raw(element_leg *self, int ipv4, int ipv6)
{
    self->raw[0] = ipv4;
    self->raw[1] = ipv6;
}

void element_leg_capture(element_leg *self, capture *to)
{
    self->capture = to;
}

void element_leg_send(element_leg *self, const uint8_t *ip, int length, int64_t now)
{
    datagram *made = datagram_of(self->of, ip, length);

    made->sent_on = self;
    put_on_leg(self, made, -1, length, now);
}

/* Transmitting bearers. */

static void put_pdu(element_transmit *self, pdu what, int64_t now)
{
    element_leg *on = self->legs[what.leg];
    int64_t sn = what.count & self->entity->mask;
    datagram *taken = what.sdu;

    if (taken->changed) { /* the kernel holds one packet, and that is on a leg */
        taken = datagram_copy(taken, on);
        datagram_release(what.sdu);
    } else {
        sn_put(taken->ip + taken->length - sn_bytes(self->sn_bits), self->sn_bits, sn);
        taken->changed = 1;
        taken->mark = on->mark;
    }
    taken->form = &self->forms[what.leg];
    put_on_leg(on, taken, sn, taken->length, now);
}

static void put_on_legs(element_transmit *self, int64_t now)
{
    do {
        while (pdu_ring_count(&self->entity->ready))
            put_pdu(self, pdu_ring_pop(&self->entity->ready), now);
        transmit_settle(self->entity, now);
    } while (pdu_ring_count(&self->entity->ready));
    if (self->entity->late)
        element_wake(self->of, transmit_next_timeout(self->entity));
}

static void take_sdu(void *of, datagram *what, int64_t now)
{
    element_transmit *self = of;
    int size = what->length;

    switch (ip_prepare_sdu(what->ip, &what->length, sn_bytes(self->sn_bits))) {
    case SDU_MALFORMED:
        self->counters->malformed++;
        drop(what);
        break;
    case SDU_REFUSED_OPTIONS:
        self->counters->refused_options++;
        drop(what);
        break;
    case SDU_HANDED_BACK:
        self->counters->handed_back++;
        datagram_accept(what);
        break;
    default:
        transmit_push(self->entity, what, size, now);
        put_on_legs(self, now);
    }
}

static int64_t transmit_due(const void *of)
{
    return transmit_next_timeout(((const element_transmit *)of)->entity);
}

static void transmit_handle(void *of, int64_t now)
{
    put_on_legs(of, now);
}

void element_transmit_changed(element_transmit *self, int64_t now)
{
    if (self->entity->late)
        put_on_legs(self, now);
}

static void transmit_end_of(void *object)
{
    element_transmit *self = object;

    transmit_free(self->entity);
    free(self);
}

element_transmit *element_add_transmit(element *self, transmit *entity, element_leg **legs, int count, int sn_bits,
                                       int queue, element_counters *counters)
{
    element_transmit *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->entity = entity;
    memcpy(made->legs, legs, (size_t)count * sizeof(*legs));
    made->sn_bits = sn_bits;
    made->counters = counters;
    entity->hooks = datagram_hooks();
    self->queues[queue] = (nf_queue){take_sdu, made};
    if (entity->late)
        element_add_part(self, (timed_part){transmit_due, transmit_handle, made}, 1);
    element_own(self, made, transmit_end_of);
    return made;
}

static capture_form form_of(const uint8_t *start, int length, int sn_bits)
{
    capture_form made = {.length = length, .number_bytes = sn_bytes(sn_bits)};

    memcpy(made.start, start, (size_t)length);
    return made;
}

void element_transmit_capture(element_transmit *self, int position, const uint8_t *start, int length)
{
    self->forms[position] = form_of(start, length, self->sn_bits);
}

/* Receiving bearers. */

static int position_of(const element_receive *self, int indev)
{
    for (int leg = 0; leg < self->legs; leg++)
        if (self->indices[leg] == indev)
            return leg;
    return -1;
}

static void deliver(void *of, int64_t now)
{
    element_receive *self = of;

    receive_settle(self->entity, now);
    while (packet_ring_count(&self->entity->ready)) {
        datagram *what = packet_ring_pop(&self->entity->ready);

        self->counters->delivered_bytes += what->length;
        datagram_accept(what);
    }
    element_wake(self->of, receive_next_timeout(self->entity));
}

static void take_pdu(void *of, datagram *what, int64_t now)
{
    element_receive *self = of;
    int leg = position_of(self, what->indev), length;
    int64_t sn;

    if (leg >= 0 && self->captures[leg] != NULL)
        capture_pdu(self->captures[leg], &self->forms[leg], what->ip, what->length, now);
    length = ip_split_trailer(what->ip, what->length, sn_bytes(self->sn_bits));
    sn = length < 0 ? -1 : sn_get(what->ip + length, self->sn_bits);
    if (sn < 0 || leg < 0) {
        self->counters->malformed++;
        drop(what);
        return;
    }
    what->length = length;
    what->changed = 1;
    if (self->maker != NULL)
        report_maker_push(self->maker, sn, length, leg);
    if (!receive_push(self->entity, sn, -1, what, leg, now))
        drop(what);
    deliver(self, now);
}

static int64_t receive_due(const void *of)
{
    return receive_next_timeout(((const element_receive *)of)->entity);
}

static void receive_end_of(void *object)
{
    element_receive *self = object;

    report_maker_free(self->maker);
    receive_free(self->entity);
    free(self);
}

element_receive *element_add_receive(element *self, receive *entity, report_maker *maker, const int *indices,
                                     int count, int sn_bits, int queue, element_counters *counters)
{
    element_receive *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->entity = entity;
    made->maker = maker;
    made->legs = count;
    memcpy(made->indices, indices, (size_t)count * sizeof(*indices));
    made->sn_bits = sn_bits;
    made->counters = counters;
    self->queues[queue] = (nf_queue){take_pdu, made};
    element_add_part(self, (timed_part){receive_due, deliver, made}, 0);
    element_own(self, made, receive_end_of);
    return made;
}

void element_receive_capture(element_receive *self, int position, capture *to, const uint8_t *start, int length)
{
    self->captures[position] = to;
    self->forms[position] = form_of(start, length, self->sn_bits);
}
