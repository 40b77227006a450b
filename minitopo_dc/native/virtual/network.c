#include "network.h"

#include "flow.h"

network *network_new(int64_t now, python_calls calls, void *handle)
{
    network *self = zeroed(1, sizeof(*self));

    self->loop.now = now;
    self->calls = calls;
    self->handle = handle;
    return self;
}

void network_free(network *self)
{
    if (self == NULL)
        return;
    self->closing = 1;
    while (self->objects != NULL) {
        owned *first = self->objects;

        self->objects = first->next;
        first->free(first->object);
        free(first);
    }
    while (self->made != NULL) {
        packet *first = self->made;

        self->made = first->made_before;
        free(first);
    }
    loop_end(&self->loop);
    free(self);
}

loop *network_loop(network *self)
{
    return &self->loop;
}

/* What was made last is freed first. */
void network_own(network *self, void *object, void (*release)(void *object))
{
    owned *made = zeroed(1, sizeof(*made));

    *made = (owned){self->objects, release, object};
    self->objects = made;
}

static packet *unused_packet(network *self)
{
    packet *found = self->unused;

    if (found != NULL) {
        self->unused = found->next;
        return found;
    }
    found = resized(NULL, 1, sizeof(*found));
    found->of = self;
    found->made_before = self->made;
    return self->made = found;
}

packet *packet_new(flow *of, int64_t token, int size)
{
    packet *made = unused_packet(of->of);

    made->flow = of;
    made->token = token;
    made->shares = 1;
    made->size = size;
    made->length = 0;
    return made;
}

static void packet_keep(void *shared)
{
    ((packet *)shared)->shares++;
}

void packet_release(void *shared)
{
    packet *self = shared;
    network *of = self->of; /* which its flow need not outlive */

    if (--self->shares)
        return;
    self->next = of->unused;
    of->unused = self;
    if (self->token >= 0 && !of->closing)
        of->calls.forget(of->handle, self->token);
}

packet_hooks packet_sharing(void)
{
    return (packet_hooks){packet_keep, packet_release};
}
