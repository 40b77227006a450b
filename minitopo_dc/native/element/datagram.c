#include "element.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <netinet/in.h>

#include "ip.h"

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
    found->decided = found->changed = 0;
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
datagram *datagram_copy(const datagram *original, const element_leg *on)
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
            self->sent_on->counters->refused++;
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
