/* The redundant scheduler: each path sends what any other has sent, for as long as that is not acknowledged.
 *
 * Nothing is kept for it: copies are made of packets that picoquic keeps until they are acknowledged
 * or lost, which the windows bound. A path that falls behind leaves out what has arrived meanwhile.
 *
 * The build gives picoquic's own function the name of the declaration below. */
#include "endpoint.h"

uint8_t *own_prepare_stream_and_datagrams(picoquic_cnx_t *connection, picoquic_path_t *path, uint8_t *bytes,
                                          uint8_t *end, int is_first, uint64_t most_urgent, int *has_more,
                                          int *is_pure_ack, int *has_nothing, int *result);

static copy_cursor *cursor_of(mdc_endpoint *endpoint, const picoquic_path_t *from, const picoquic_path_t *to)
{
    copy_cursor *cursor = &endpoint->cursors[place_of(endpoint, from)][place_of(endpoint, to)];

    if (cursor->from != from->unique_path_id || cursor->to != to->unique_path_id)
        *cursor = (copy_cursor){.from = from->unique_path_id, .to = to->unique_path_id};
    return cursor;
}

/* Whether a packet has data of streams that has not arrived, and is not a copy itself. */
static int is_worth_copying(picoquic_cnx_t *connection, picoquic_packet_t *packet)
{
    size_t length = 0;

    if (packet->is_preemptive_repeat)
        return 0;
    for (size_t place = packet->offset; place < packet->length; place += length) {
        uint8_t *frame = packet->bytes + place;
        int has_arrived = 0, is_unique = 0;

        if (picoquic_skip_frame(frame, packet->length - place, &length, &has_arrived))
            return 0;
        if (!PICOQUIC_IN_RANGE(*frame, picoquic_frame_type_stream_range_min, picoquic_frame_type_stream_range_max))
            continue;
        if (picoquic_check_frame_needs_repeat(connection, frame, length, packet->ptype, &has_arrived, &is_unique, NULL))
            return 0;
        if (!has_arrived)
            return 1;
    }
    return 0;
}

/* The packet of a path that another one copies next, or NULL; the cursor points to it. */
static picoquic_packet_t *next_packet(mdc_endpoint *endpoint, picoquic_path_t *from, copy_cursor *cursor)
{
    picoquic_packet_t *packet = from->pkt_ctx.pending_last, *next = NULL;
    uint64_t sequence_number;

    for (; packet != NULL && packet->sequence_number >= cursor->sequence_number; packet = packet->packet_previous)
        next = packet;
    while (next != NULL && !is_worth_copying(endpoint->connection, next))
        next = next->packet_next;
    sequence_number = next == NULL ? from->pkt_ctx.send_sequence : next->sequence_number;
    if (sequence_number != cursor->sequence_number) {
        cursor->sequence_number = sequence_number;
        cursor->frame = cursor->index = 0;
    }
    return next;
}

/* Whether others have sent what this path has not. */
int has_copies(mdc_endpoint *endpoint, const picoquic_path_t *to)
{
    const picoquic_cnx_t *connection = endpoint->connection;

    for (int i = 0; i < connection->nb_paths; i++) {
        picoquic_path_t *from = connection->path[i];

        if (from != to && !from->path_is_demoted && next_packet(endpoint, from, cursor_of(endpoint, from, to)) != NULL)
            return 1;
    }
    return 0;
}

/* Copy the data of a packet from the cursor on, as much as there is room for; where the copy ends. */
static uint8_t *copy_packet(picoquic_cnx_t *connection, picoquic_packet_t *packet, copy_cursor *cursor, uint8_t *bytes,
                            uint8_t *end)
{
    packet->data_repeat_frame = cursor->frame ? cursor->frame : packet->offset;
    packet->data_repeat_index = cursor->index ? cursor->index : packet->offset;
    while (picoquic_queue_data_repeat_adjust(connection, packet) == 0 && packet->data_repeat_frame < packet->length) {
        size_t frame = packet->data_repeat_frame;
        uint8_t *copied = picoquic_copy_stream_frame_for_retransmit(connection, packet, bytes, end);

        if (copied != NULL)
            bytes = copied;
        if (packet->data_repeat_frame == frame)
            break; /* the rest has no room */
    }
    cursor->frame = packet->data_repeat_frame;
    cursor->index = packet->data_repeat_index;
    if (packet->data_repeat_frame >= packet->length) {
        cursor->sequence_number = packet->sequence_number + 1;
        cursor->frame = cursor->index = 0;
    }
    return bytes;
}

/* Fill a packet of a path with what others have sent before it. */
static uint8_t *copy_all(mdc_endpoint *endpoint, const picoquic_path_t *to, uint8_t *bytes, uint8_t *end)
{
    const picoquic_cnx_t *connection = endpoint->connection;

    for (int i = 0; i < connection->nb_paths; i++) {
        picoquic_path_t *from = connection->path[i];
        copy_cursor *cursor = cursor_of(endpoint, from, to);
        picoquic_packet_t *packet;
        uint8_t *copied = NULL;

        if (from == to || from->path_is_demoted)
            continue;
        while (copied != bytes && (packet = next_packet(endpoint, from, cursor)) != NULL) {
            copied = bytes;
            bytes = copy_packet(endpoint->connection, packet, cursor, bytes, end);
        }
    }
    return bytes;
}

/* Note that the packet that was made has copies, so that no path copies those. */
void mark_copies(mdc_endpoint *endpoint)
{
    if (endpoint->copying != NULL)
        endpoint->copying->pkt_ctx.pending_last->is_preemptive_repeat = 1;
    endpoint->copying = NULL;
}

uint8_t *picoquic_prepare_stream_and_datagrams(picoquic_cnx_t *connection, picoquic_path_t *path, uint8_t *bytes,
                                               uint8_t *end, int is_first, uint64_t most_urgent, int *has_more,
                                               int *is_pure_ack, int *has_nothing, int *result)
{
    mdc_endpoint *endpoint = connection->quic->default_callback_ctx;

    if (endpoint->scheduler.kind == MDC_REDUNDANT && connection == endpoint->connection &&
        connection->is_multipath_enabled) {
        uint8_t *copied = copy_all(endpoint, path, bytes, end);

        if (copied != bytes) {
            endpoint->copying = path;
            *is_pure_ack = *has_nothing = 0;
            return copied;
        }
    }
    return own_prepare_stream_and_datagrams(connection, path, bytes, end, is_first, most_urgent, has_more, is_pure_ack,
                                            has_nothing, result);
}
