/* Schedulers of MP-QUIC: which path the next packet takes.
 *
 * The build gives picoquic's own functions the names of the declarations below. Its scheduler still decides where
 * it is the scheduler, where an acknowledgement is due, and where no path has room. */
#include <math.h>

#include "endpoint.h"

void own_sort_available_paths(picoquic_cnx_t *connection, uint64_t now, uint64_t *wake, picoquic_path_t **path,
                              uint64_t fewest_timeouts, picoquic_tuple_t **tuple);
uint8_t *own_prepare_stream_and_datagrams(picoquic_cnx_t *connection, picoquic_path_t *path, uint8_t *bytes,
                                          uint8_t *end, int is_first, uint64_t most_urgent, int *has_more,
                                          int *is_pure_ack, int *has_nothing, int *result);

/* The path with the shortest round trip, or -1; with `needs_room`, of those that may send now, and with
 * `is_behind` of those that have not sent what others have. */
static int fastest(const mdc_candidate *paths, int count, int needs_room, int is_behind)
{
    int best = -1;

    for (int i = 0; i < count; i++)
        if ((paths[i].has_room || !needs_room) && (paths[i].is_behind || !is_behind) &&
            (best < 0 || paths[i].smoothed_rtt_us < paths[best].smoothed_rtt_us))
            best = i;
    return best;
}

/* The next path in turn, which has sent fewer packets of this round than its weight. */
static int in_turn(mdc_scheduler *scheduler, const mdc_candidate *paths, int count)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MDC_PATHS; i++) {
            int turn = (scheduler->turn + i) % MDC_PATHS, place = 0;

            while (place < count && paths[place].place != turn)
                place++;
            if (place < count && paths[place].has_room && scheduler->sent[turn] < scheduler->weights[turn])
                return place;
        }
        for (int i = 0; i < MDC_PATHS; i++)
            scheduler->sent[i] = 0;
    }
    return -1;
}

/* Earliest completion first (Lim et al., CoNEXT 2017, algorithm 1, with its beta of 0.25). */
static int is_worth_waiting(mdc_scheduler *scheduler, const mdc_candidate *fast, const mdc_candidate *slow,
                            uint64_t unsent)
{
    const double beta = 0.25;
    double deviation = fmax((double)fast->rtt_variation_us, (double)slow->rtt_variation_us);
    double rounds = 1 + (double)unsent / (double)fast->cwnd;
    double fast_us = (double)fast->smoothed_rtt_us, slow_us = (double)slow->smoothed_rtt_us;

    if (rounds * fast_us >= (1 + scheduler->is_waiting * beta) * (slow_us + deviation)) {
        scheduler->is_waiting = 0;
        return 0;
    }
    if ((double)unsent / (double)slow->cwnd * slow_us < 2 * fast_us + deviation)
        return 0;
    scheduler->is_waiting = 1;
    return 1;
}

/* Blocking estimation (Ferlin et al., IFIP Networking 2016, section III), with its lambda at 1: whether what
 * the fast path can send during a round trip of the slow one has no place in the send window
 * beside what is in flight on the slow one. */
static int would_block(const mdc_candidate *fast, const mdc_candidate *slow, uint64_t window)
{
    double ratio = (double)slow->smoothed_rtt_us / fmax(1, (double)fast->smoothed_rtt_us);
    double of_fast = ((double)fast->cwnd + (double)fast->segment * (ratio - 1) / 2) * ratio;

    return of_fast > (double)window - (double)(slow->in_flight + slow->segment);
}

/* The place of the path that the next packet takes; -1: it waits for the fastest one.
 *
 * At least one path has room. `unsent` and `window` are in bytes: what the application has written
 * and no path has sent, and what the peer's flow control lets be under way. */
int mdc_choose(mdc_scheduler *scheduler, const mdc_candidate *paths, int count, uint64_t unsent, uint64_t window)
{
    int fast = fastest(paths, count, 0, 0), open = fastest(paths, count, 1, 0), behind = fastest(paths, count, 1, 1);

    switch (scheduler->kind) {
    case MDC_IN_TURN:
        return in_turn(scheduler, paths, count);
    case MDC_EARLIEST_COMPLETION_FIRST:
        return open != fast && is_worth_waiting(scheduler, &paths[fast], &paths[open], unsent) ? -1 : open;
    case MDC_BLOCKING_ESTIMATION:
        return open != fast && would_block(&paths[fast], &paths[open], window) ? -1 : open;
    case MDC_REDUNDANT:
        return behind >= 0 ? behind : open;
    default:
        return open;
    }
}

/* A path has sent a packet. */
void mdc_count_sent(mdc_scheduler *scheduler, int place)
{
    scheduler->sent[place]++;
    scheduler->turn = scheduler->sent[place] < scheduler->weights[place] ? place : (place + 1) % MDC_PATHS;
}

/* What the application has written and no path has sent; 0 where the scheduler does not ask, as it
 * takes a look at each stream. */
static uint64_t unsent_bytes(mdc_endpoint *endpoint)
{
    picoquic_stream_head_t *stream = picoquic_first_stream(endpoint->connection);
    uint64_t bytes = 0;

    if (endpoint->scheduler.kind != MDC_EARLIEST_COMPLETION_FIRST)
        return 0;
    for (const pattern *sending = endpoint->patterns; sending != NULL; sending = sending->next)
        bytes += sending->length - sending->sent;
    for (; stream != NULL; stream = picoquic_next_stream(stream))
        for (const picoquic_stream_queue_node_t *node = stream->send_queue; node != NULL; node = node->next_stream_data)
            bytes += node->length - node->offset;
    mdc_waiting_datagrams(endpoint, &bytes);
    return bytes;
}

/* The number of a path's leg: its first packet gave both ends' addresses a number, in order, and the
 * server's is 0 or 1. */
int place_of(mdc_endpoint *endpoint, const picoquic_path_t *path)
{
    int number = number_of(endpoint, endpoint->is_client ? &path->first_tuple->local_addr : &path->first_tuple->peer_addr);

    return number <= 1 ? 0 : (number - 1) % MDC_PATHS;
}

/* The paths that packets may take, as `mdc_choose` sees them, and the bytes in flight on all. */
static int list_paths(mdc_endpoint *endpoint, uint64_t now, uint64_t *wake, uint64_t fewest_timeouts,
                      mdc_candidate *candidates, picoquic_path_t **paths, uint64_t *in_flight)
{
    picoquic_cnx_t *connection = endpoint->connection;
    int count = 0;

    *in_flight = 0;
    for (int i = 0; i < connection->nb_paths && count < MDC_PATHS; i++) {
        picoquic_path_t *path = connection->path[i];

        *in_flight += path->bytes_in_transit;
        if (!path->first_tuple->challenge_verified || path->path_is_demoted || path->path_is_backup ||
            path->nb_retransmit > fewest_timeouts)
            continue;
        paths[count] = path;
        candidates[count++] = (mdc_candidate){
            .place = place_of(endpoint, path),
            .cwnd = path->cwin,
            .in_flight = path->bytes_in_transit,
            .segment = path->send_mtu,
            .smoothed_rtt_us = path->smoothed_rtt,
            .rtt_variation_us = path->rtt_variant,
            .packets_sent = path->pkt_ctx.send_sequence,
            .has_room = path->bytes_in_transit < path->cwin && path->bytes_in_transit < endpoint->quic->cwin_max &&
                        picoquic_is_sending_authorized_by_pacing(connection, path, now, wake),
            .is_behind = endpoint->scheduler.kind == MDC_REDUNDANT && has_copies(endpoint, path),
        };
    }
    return count;
}

/* Whether the packet waits for a path to get room: the chosen one, or one that has only copies to send. */
static int is_waiting(const mdc_candidate *paths, int count, int place)
{
    for (int i = 0; i < count; i++)
        if (paths[i].is_behind && !paths[place].is_behind)
            return 1;
    return !paths[place].has_room;
}

/* Count the packet, if there was one, that took the path that was chosen before. */
static void count_last(mdc_endpoint *endpoint)
{
    int index = picoquic_get_path_id_from_unique(endpoint->connection, endpoint->chosen);
    picoquic_path_t *path = index < 0 ? NULL : endpoint->connection->path[index];

    if (path != NULL && path->pkt_ctx.send_sequence > endpoint->chosen_sequence)
        mdc_count_sent(&endpoint->scheduler, place_of(endpoint, path));
    endpoint->chosen = UINT64_MAX;
}

void mdc_set_chooser(mdc_endpoint *endpoint, mdc_chooser choose)
{
    endpoint->choose = choose;
}

/* The place that a user's scheduler chooses; below 0 once it has failed, which ends the run. */
static int choose_by_plugin(mdc_endpoint *endpoint, const mdc_candidate *paths, int count, uint64_t now)
{
    int place = endpoint->failed ? -1 : endpoint->choose(paths, count, now);

    if (place < 0)
        endpoint->failed = 1;
    return place;
}

static void schedule(mdc_endpoint *endpoint, uint64_t now, uint64_t *wake, uint64_t fewest_timeouts,
                     picoquic_path_t **path)
{
    mdc_candidate candidates[MDC_PATHS];
    picoquic_path_t *paths[MDC_PATHS];
    uint64_t in_flight, sooner = UINT64_MAX;
    int count = list_paths(endpoint, now, &sooner, fewest_timeouts, candidates, paths, &in_flight);
    int place;

    count_last(endpoint);
    if (fastest(candidates, count, 1, 0) < 0)
        return;
    place = endpoint->scheduler.kind == MDC_PLUGIN
                ? choose_by_plugin(endpoint, candidates, count, now)
                : mdc_choose(&endpoint->scheduler, candidates, count, unsent_bytes(endpoint),
                             endpoint->connection->maxdata_remote - endpoint->connection->data_sent + in_flight);
    if (place < 0)
        place = fastest(candidates, count, 0, 0); /* it sends nothing now */
    if (is_waiting(candidates, count, place) && sooner < *wake)
        *wake = sooner;
    *path = paths[place];
    endpoint->chosen = (*path)->unique_path_id;
    endpoint->chosen_sequence = (*path)->pkt_ctx.send_sequence;
}

void picoquic_sort_available_paths(picoquic_cnx_t *connection, uint64_t now, uint64_t *wake, picoquic_path_t **path,
                                   uint64_t fewest_timeouts, picoquic_tuple_t **tuple)
{
    mdc_endpoint *endpoint = connection->quic->default_callback_ctx;

    own_sort_available_paths(connection, now, wake, path, fewest_timeouts, tuple);
    if (endpoint->scheduler.kind == MDC_OWN || connection != endpoint->connection ||
        ((*path)->is_nominal_ack_path && picoquic_is_ack_needed(connection, now, wake, 0, 0)))
        return;
    schedule(endpoint, now, wake, fewest_timeouts, path);
    *tuple = (*path)->first_tuple;
}

/* The redundant scheduler: each path sends what any other has sent, for as long as that is not acknowledged.
 *
 * Nothing is kept for it: copies are made of packets that picoquic keeps until they are acknowledged
 * or lost, which the windows bound. A path that falls behind leaves out what has arrived meanwhile. */

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
