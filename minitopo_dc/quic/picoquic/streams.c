/* Streams, with a block that is sent again and again, DATAGRAM frames (RFC 9221), and what happens on a
 * connection, kept until Python has read it. */
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

/* What happens. */

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

/* What is sent. */

static pattern *find_pattern(mdc_endpoint *endpoint, uint64_t stream)
{
    pattern *sending = endpoint->patterns;

    while (sending != NULL && sending->stream != stream)
        sending = sending->next;
    return sending;
}

void drop_pattern(mdc_endpoint *endpoint, uint64_t stream)
{
    pattern **place = &endpoint->patterns, *sending;

    while ((sending = *place) != NULL) {
        if (sending->stream == stream) {
            *place = sending->next;
            free(sending);
        } else {
            place = &sending->next;
        }
    }
}

/* Picoquic asks for the next bytes of a stream. */
void fill(mdc_endpoint *endpoint, uint64_t stream, void *context, size_t room)
{
    pattern *sending = find_pattern(endpoint, stream);
    uint64_t left = sending == NULL ? 0 : sending->length - sending->sent;
    size_t length = left < room ? (size_t)left : room;
    uint8_t *buffer = picoquic_provide_stream_data_buffer(context, length, length == left, length < left);
    size_t done = 0;

    if (buffer == NULL)
        return;
    while (done < length) {
        size_t start = (size_t)(sending->sent % sending->block_length);
        size_t piece = sending->block_length - start;
        if (piece > length - done)
            piece = length - done;
        memcpy(buffer + done, sending->block + start, piece);
        done += piece;
        sending->sent += piece;
    }
    if (length == left)
        drop_pattern(endpoint, stream);
}

/* UINT64_MAX: there is no connection. */
uint64_t mdc_open_stream(mdc_endpoint *endpoint, int is_unidirectional)
{
    if (!is_live(endpoint))
        return UINT64_MAX;
    return picoquic_get_next_local_stream_id(endpoint->connection, is_unidirectional);
}

int mdc_write(mdc_endpoint *endpoint, uint64_t stream, const uint8_t *data, size_t length, int fin)
{
    if (!is_live(endpoint))
        return -1;
    return picoquic_add_to_stream(endpoint->connection, stream, data, length, fin);
}

/* `length` bytes and the end of a stream; the block must outlive the endpoint. */
int mdc_write_pattern(mdc_endpoint *endpoint, uint64_t stream, const uint8_t *block, size_t block_length,
                      uint64_t length)
{
    pattern *made = malloc(sizeof(pattern));

    if (made == NULL || !is_live(endpoint)) {
        free(made);
        return -1;
    }
    *made = (pattern){endpoint->patterns, stream, block, block_length, 0, length};
    endpoint->patterns = made;
    return picoquic_mark_active_stream(endpoint->connection, stream, 1, NULL);
}

/* Ask the peer to give a stream up (RFC 9000, section 19.5). */
int mdc_stop_sending(mdc_endpoint *endpoint, uint64_t stream, uint64_t error)
{
    if (!is_live(endpoint))
        return -1;
    return picoquic_stop_sending(endpoint->connection, stream, error);
}

/* Give a stream up (RFC 9000, section 19.4). */
int mdc_reset_stream(mdc_endpoint *endpoint, uint64_t stream, uint64_t error)
{
    drop_pattern(endpoint, stream);
    if (!is_live(endpoint))
        return -1;
    return picoquic_reset_stream(endpoint->connection, stream, error);
}

/* Picoquic itself looks at the size only above 1,200 bytes. */
int mdc_send_datagram(mdc_endpoint *endpoint, const uint8_t *data, size_t length)
{
    const size_t around = 21 + PICOQUIC_CONNECTION_ID_MAX_SIZE; /* at most: headers and the tag of a packet */

    if (!is_live(endpoint) || length + around > endpoint->datagram_bytes ||
        length > endpoint->connection->remote_parameters.max_datagram_frame_size)
        return -1;
    return picoquic_queue_datagram_frame(endpoint->connection, length, data);
}

/* How many DATAGRAM frames wait for the congestion windows, and the bytes of them all, unless NULL; -1: the
 * connection is over. */
int mdc_waiting_datagrams(mdc_endpoint *endpoint, uint64_t *bytes)
{
    const picoquic_misc_frame_header_t *frame;
    int count = 0;

    if (!is_live(endpoint))
        return -1;
    for (frame = endpoint->connection->first_datagram; frame != NULL; frame = frame->next_misc_frame, count++)
        if (bytes != NULL)
            *bytes += frame->length;
    return count;
}
