/* What happens on a connection, kept until Python has read it. Nothing here knows of the other parts. */
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

/* The smallest number of bytes to begin with, doubled when it is not enough. */
int make_room(void **what, size_t *room, size_t wanted, size_t size)
{
    size_t more = *room ? *room : 64;
    void *grown;

    if (wanted <= *room)
        return 0;
    while (more < wanted)
        more *= 2;
    grown = realloc(*what, more * size);
    if (grown == NULL)
        return -1;
    *what = grown;
    *room = more;
    return 0;
}

void add_event(mdc_endpoint *endpoint, int kind, uint64_t value, size_t offset, size_t length)
{
    mdc_event *last;

    if (kind == MDC_DATA && endpoint->state.event_count) { /* more of the same stream */
        last = &endpoint->events[endpoint->state.event_count - 1];
        if (last->kind == MDC_DATA && last->value == value) {
            last->length += length;
            return;
        }
    }
    if (make_room((void **)&endpoint->events, &endpoint->event_room, endpoint->state.event_count + 1,
                  sizeof(mdc_event))) {
        endpoint->failed = 1;
        return;
    }
    endpoint->events[endpoint->state.event_count++] = (mdc_event){kind, value, offset, length};
    endpoint->state.events = endpoint->events;
    endpoint->state.notable_count += kind != MDC_DATA;
}

void add_input(mdc_endpoint *endpoint, int kind, uint64_t stream, const uint8_t *bytes, size_t length)
{
    size_t offset = endpoint->state.input_length;

    if (length == 0)
        return;
    if (make_room((void **)&endpoint->input, &endpoint->input_room, offset + length, 1)) {
        endpoint->failed = 1;
        return;
    }
    memcpy(endpoint->input + offset, bytes, length);
    endpoint->state.input = endpoint->input;
    endpoint->state.input_length += length;
    add_event(endpoint, kind, stream, offset, length);
}

/* Whether there is a connection, not over yet, whose user may ask for something. */
int is_live(const mdc_endpoint *endpoint)
{
    return endpoint->connection != NULL &&
           picoquic_get_cnx_state(endpoint->connection) < picoquic_state_disconnecting;
}

void wake(mdc_endpoint *endpoint, uint64_t now)
{
    picoquic_set_app_wake_time(endpoint->connection, now);
    endpoint->state.wake = now;
}
