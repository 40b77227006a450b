/* NFQUEUE by netlink: many packets in a call, and the verdicts on them in another. All queues of an element
 * are on one socket, which Python has opened and bound. */
#include "element.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#define MESSAGE_HEADERS (sizeof(struct nlmsghdr) + sizeof(struct nfgenmsg))
#define ATTRIBUTE sizeof(struct nlattr)
#define VERDICT_BYTES (MESSAGE_HEADERS + ATTRIBUTE + sizeof(struct nfqnl_msg_verdict_hdr) + 2 * ATTRIBUTE + 4)
#define PREPARED 4096 /* datagrams made before memory is locked */

/* Verdicts. */

static uint8_t *put_attribute(uint8_t *at, int type, const void *value, size_t size)
{
    struct nlattr header = {(uint16_t)(ATTRIBUTE + size), (uint16_t)type};

    memcpy(at, &header, ATTRIBUTE);
    memcpy(at + ATTRIBUTE, value, size);
    memset(at + ATTRIBUTE + size, 0, NLA_ALIGN(size) - size);
    return at + ATTRIBUTE + NLA_ALIGN(size);
}

/* It is sent with the next `element_flush`; a dropped packet needs no bytes. */
void queue_verdict(datagram *of, uint32_t verdict)
{
    element *self = of->of;
    size_t payload = of->changed && verdict == NF_ACCEPT ? (size_t)of->length : 0;
    struct nlmsghdr header = {.nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_VERDICT,
                              .nlmsg_flags = NLM_F_REQUEST};
    struct nfgenmsg family = {.nfgen_family = 0, .version = NFNETLINK_V0, .res_id = htons((uint16_t)of->queue)};
    struct nfqnl_msg_verdict_hdr says = {htonl(verdict), htonl(of->id)};
    uint32_t mark = htonl(of->mark);
    uint8_t *start, *at;

    if (self->out_used + VERDICT_BYTES + NLA_ALIGN(payload) > OUT_BYTES)
        element_flush(self);
    start = self->out + self->out_used;
    at = put_attribute(start + MESSAGE_HEADERS, NFQA_VERDICT_HDR, &says, sizeof(says));
    if (of->mark)
        at = put_attribute(at, NFQA_MARK, &mark, sizeof(mark));
    if (payload)
        at = put_attribute(at, NFQA_PAYLOAD, of->ip, payload);
    header.nlmsg_len = (uint32_t)(at - start);
    memcpy(start, &header, sizeof(header));
    memcpy(start + sizeof(header), &family, sizeof(family));
    self->out_used += (size_t)(at - start);
}

void element_flush(element *self)
{
    while (self->out_used && send(self->netlink, self->out, self->out_used, 0) < 0)
        if (errno != EINTR) {
            element_fail(self, errno, self->netlink);
            break;
        }
    self->out_used = 0;
}

/* Datagrams. */

datagram *datagram_take(element *of)
{
    datagram *found = of->unused;

    if (found != NULL) {
        of->unused = found->next;
    } else {
        found = resized(NULL, 1, sizeof(*found));
        found->of = of;
        found->made_before = of->made;
        of->made = found;
    }
    found->sent_on = NULL;
    found->shares = 1;
    found->decided = found->changed = found->ce = 0;
    found->mark = 0;
    found->form = NULL;
    found->large = NULL;
    found->ip = found->bytes;
    found->length = 0;
    return found;
}

/* One of the element's own, with room for nothing more. */
datagram *datagram_of(element *of, const uint8_t *ip, int length)
{
    datagram *made = datagram_take(of);

    if (length > OWN_BYTES)
        made->ip = made->large = resized(NULL, 1, (size_t)length);
    memcpy(made->ip, ip, (size_t)length);
    made->length = length;
    return made;
}

/* The kernel forwards the original and lowers its TTL: so does this. It also writes IPv4's checksum. */
datagram *datagram_copy(const datagram *original, leg_driver *on)
{
    datagram *made = datagram_of(original->of, original->ip, original->length);

    made->sent_on = on;
    made->ip[ip_ttl_offset(made->ip)]--;
    return made;
}

static int send_out(const datagram *self)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } to;
    int v6 = ip_is_v6(self->ip);
    socklen_t size = v6 ? sizeof(to.v6) : sizeof(to.v4);

    memset(&to, 0, sizeof(to));
    if (v6) {
        to.v6.sin6_family = AF_INET6;
        memcpy(&to.v6.sin6_addr, self->ip + 24, 16);
    } else {
        to.v4.sin_family = AF_INET;
        memcpy(&to.v4.sin_addr, self->ip + 16, 4);
    }
    return sendto(self->sent_on->raw[v6], self->ip, (size_t)self->length, 0, &to.any, size) >= 0;
}

void datagram_accept(datagram *self)
{
    self->decided = 1;
    if (self->sent_on == NULL) {
        queue_verdict(self, NF_ACCEPT);
    } else {
        element_flush(self->of); /* what left before it is before it */
        if (!send_out(self))
            self->sent_on->uncarried.refused++;
    }
    datagram_release(self);
}

void datagram_release(void *shared)
{
    datagram *self = shared;
    element *of = self->of;

    if (--self->shares)
        return;
    if (!self->decided && self->sent_on == NULL && !of->router.closing)
        queue_verdict(self, NF_DROP);
    free(self->large);
    self->large = NULL;
    self->next = of->unused;
    of->unused = self;
}

void datagram_keep(void *shared)
{
    ((datagram *)shared)->shares++;
}

void datagrams_free(element *of)
{
    while (of->made != NULL) {
        datagram *first = of->made;

        of->made = first->made_before;
        free(first->large);
        free(first);
    }
}

/* Reading. */

static void offer(element *self, int slot)
{
    datagram *fresh = datagram_take(self);

    self->slots[slot] = fresh;
    self->pieces[slot][0] = (struct iovec){fresh->bytes, OWN_BYTES};
}

void queues_begin(element *self)
{
    datagram *made = NULL;

    self->overflow = resized(NULL, BATCH, MAX_MESSAGE);
    self->out = resized(NULL, OUT_BYTES, 1);
    for (int i = 0; i < PREPARED; i++) {
        datagram *each = datagram_take(self);

        each->next = made;
        made = each;
    }
    self->unused = made;
    for (int slot = 0; slot < BATCH; slot++) {
        offer(self, slot);
        self->pieces[slot][1] = (struct iovec){self->overflow + (size_t)slot * MAX_MESSAGE, MAX_MESSAGE};
        self->messages[slot].msg_hdr = (struct msghdr){.msg_iov = self->pieces[slot], .msg_iovlen = 2};
    }
}

void queues_end(element *self)
{
    free(self->overflow);
    free(self->out);
}

/* Put a message together that is longer than a datagram's own bytes. */
static uint8_t *joined(element *self, int slot, size_t length)
{
    datagram *what = self->slots[slot];

    if (length <= OWN_BYTES)
        return what->bytes;
    what->large = resized(NULL, 1, length + 8);
    memcpy(what->large, what->bytes, OWN_BYTES);
    memcpy(what->large + OWN_BYTES, self->pieces[slot][1].iov_base, length - OWN_BYTES);
    return what->large;
}

static uint32_t number_at(const uint8_t *at)
{
    uint32_t found;

    memcpy(&found, at, sizeof(found));
    return ntohl(found);
}

/* What a message says of its packet; 0: it is none. */
static int read_attributes(datagram *what, uint8_t *message, size_t length)
{
    size_t at = MESSAGE_HEADERS;
    int has_id = 0;

    while (at + ATTRIBUTE <= length) {
        struct nlattr header;
        uint8_t *value = message + at + ATTRIBUTE;
        int size;

        memcpy(&header, message + at, ATTRIBUTE);
        if (header.nla_len < ATTRIBUTE || at + header.nla_len > length)
            return 0;
        size = (int)(header.nla_len - ATTRIBUTE);
        switch (header.nla_type & NLA_TYPE_MASK) {
        case NFQA_PACKET_HDR:
            has_id = size >= 4;
            what->id = has_id ? number_at(value) : 0;
            break;
        case NFQA_IFINDEX_INDEV:
            what->indev = size >= 4 ? (int)number_at(value) : 0;
            break;
        case NFQA_PAYLOAD:
            what->ip = value;
            what->length = size;
            break;
        default:
            break;
        }
        at += NLA_ALIGN(header.nla_len);
    }
    return has_id;
}

static void take_message(element *self, int slot)
{
    size_t length = self->messages[slot].msg_len;
    uint8_t *message = joined(self, slot, length);
    datagram *what = self->slots[slot];
    struct nlmsghdr header;
    struct nfgenmsg family;

    if (length < MESSAGE_HEADERS)
        return;
    memcpy(&header, message, sizeof(header));
    memcpy(&family, message + sizeof(header), sizeof(family));
    what->queue = ntohs(family.res_id);
    what->indev = 0;
    what->length = 0;
    if (header.nlmsg_type != (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET) || header.nlmsg_len > length)
        return; /* of a verdict on what is gone, for example */
    if (!read_attributes(what, message, header.nlmsg_len) || what->queue >= MAX_QUEUES)
        return;
    offer(self, slot);
    if (self->queues[what->queue].take != NULL)
        self->queues[what->queue].take(self->queues[what->queue].of, what);
    else
        datagram_release(what);
}

/* What was no packet leaves its slot as it was. */
static void clear(datagram *slot)
{
    free(slot->large);
    slot->large = NULL;
    slot->ip = slot->bytes;
}

int element_read(element *self, int64_t now)
{
    int count;

    self->router.now = now;
    count = recvmmsg(self->netlink, self->messages, BATCH, MSG_DONTWAIT, NULL);

    if (count < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
        element_fail(self, errno, self->netlink);
    for (int slot = 0; slot < count; slot++) {
        take_message(self, slot);
        clear(self->slots[slot]);
    }
    return count > 0 ? count : 0;
}
