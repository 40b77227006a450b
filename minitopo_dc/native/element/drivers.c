/* What is the element's own of legs and bearers: their packets are the kernel's. The twin of real/element/packets.py. */
#include "element.h"

static element *element_of(router *of)
{
    return (element *)of;
}

static void wake(router *of, timer *what)
{
    element_of(of)->due = earlier(element_of(of)->due, what->at);
}

/* Legs. */

static void take_departing(void *of, datagram *what)
{
    leg_driver *self = of;
    int size = ip_size_on_leg(what->ip, what->length);

    if (size < 0) {
        self->uncarried.malformed++;
        datagram_release(what);
        return;
    }
    leg_driver_push(self, what, -1, size);
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

static int datagram_ecn(const void *shared)
{
    const datagram *self = shared;

    return self->ce ? CE : ip_ecn(self->ip);
}

static void *datagram_mark(void *shared)
{
    ((datagram *)shared)->ce = 1;
    return shared;
}

static void leave(leg_driver *by, carried what)
{
    capture *to = by->capture;
    datagram *leaving = what.packet;

    if (leaving->ce) {
        ip_mark(leaving->ip);
        leaving->changed = 1;
    }
    if (to == NULL)
        datagram_accept(what.packet);
    else
        accept_captured(to, what.packet, by->of->now);
}

void element_leg_out(leg_driver *self, int ipv4, int ipv6, capture *to)
{
    self->raw[0] = ipv4;
    self->raw[1] = ipv6;
    self->capture = to;
}

void element_leg_send(leg_driver *self, const uint8_t *ip, int length, int64_t now)
{
    datagram *made = datagram_of(element_of(self->of), ip, length);

    self->of->now = now;
    made->sent_on = self;
    leg_driver_push(self, made, -1, length);
}

/* Transmitting bearers. */

static void put(transmit_driver *self, pdu what)
{
    leg_driver *on = self->legs[what.leg];
    int64_t mask = self->entity->mask, sn = what.count & mask;
    datagram *taken = what.sdu;

    if (taken->ce && !taken->changed) { /* it was marked where it was split: copies are, too */
        ip_mark(taken->ip);
        taken->ce = 0;
    }
    if (taken->changed) { /* the kernel holds one packet, and that is on a leg */
        taken = datagram_copy(taken, on);
        datagram_release(what.sdu);
    } else {
        sn_put(taken->ip + taken->length - self->entity->header, bits_of(mask), sn);
        taken->changed = 1;
        taken->mark = THROUGH_LEG | (uint32_t)on->number;
    }
    taken->form = &self->forms[what.leg];
    leg_driver_push(on, taken, sn, taken->length);
}

static void take_sdu(void *of, datagram *what)
{
    transmit_driver *self = of;
    int size = what->length;

    switch (ip_prepare_sdu(what->ip, &what->length, self->entity->header)) {
    case SDU_MALFORMED:
        self->uncarried.malformed++;
        datagram_release(what);
        break;
    case SDU_REFUSED_OPTIONS:
        self->uncarried.refused_options++;
        datagram_release(what);
        break;
    case SDU_HANDED_BACK:
        self->uncarried.handed_back++;
        datagram_accept(what);
        break;
    default:
        transmit_driver_push(self, what, size);
    }
}

static capture_form form_of(const uint8_t *start, int length, int64_t mask)
{
    capture_form made = {.length = length, .number_bytes = sn_bytes(bits_of(mask))};

    memcpy(made.start, start, (size_t)length);
    return made;
}

void element_transmit_capture(transmit_driver *self, int position, const uint8_t *start, int length)
{
    self->forms[position] = form_of(start, length, self->entity->mask);
}

/* Receiving bearers. */

static int deliver(void *sdu)
{
    int size = ((datagram *)sdu)->length;

    datagram_accept(sdu);
    return size;
}

static void take_pdu(void *of, datagram *what)
{
    receive_driver *self = of;
    int leg = receive_driver_position(self, what->indev), sn_bits = bits_of(self->entity->mask), length;
    int64_t sn;

    if (leg >= 0 && self->captures[leg] != NULL)
        capture_pdu(self->captures[leg], &self->forms[leg], what->ip, what->length, self->of->now);
    length = ip_split_trailer(what->ip, what->length, sn_bytes(sn_bits));
    sn = length < 0 ? -1 : sn_get(what->ip + length, sn_bits);
    if (sn < 0 || leg < 0) {
        self->uncarried.malformed++;
        datagram_release(what);
        return;
    }
    what->length = length;
    what->changed = 1;
    receive_driver_push(self, what, length, leg, sn, -1);
}

void element_receive_capture(receive_driver *self, int position, capture *to, const uint8_t *start, int length)
{
    self->captures[position] = to;
    self->forms[position] = form_of(start, length, self->entity->mask);
}

/* The element. */

void element_queue(element *self, int queue, int of, void *driver)
{
    static take_fn *const takes[] = {take_departing, take_sdu, take_pdu};

    self->queues[queue] = (nf_queue){takes[of], driver};
}

element *element_new(int netlink)
{
    element *self = zeroed(1, sizeof(*self));

    self->netlink = netlink;
    self->watched[0] = (struct pollfd){.fd = netlink, .events = POLLIN};
    self->watched_count = 1;
    self->router = (router){.packets = {datagram_keep, datagram_release, datagram_ecn, datagram_mark},
                            .wake = wake, .leave = leave, .put = put, .deliver = deliver};
    queues_begin(self);
    return self;
}

void element_free(element *self)
{
    router_free_owned(&self->router);
    queues_end(self);
    datagrams_free(self);
    free(self);
}
