/* Schedulers of MP-QUIC: which path the next packet takes.
 *
 * The build gives picoquic's own scheduler the name of the declaration below. It still decides where
 * it is the scheduler, where an acknowledgement is due, and where no path has room. */
#include <math.h>

#include "endpoint.h"

void own_sort_available_paths(picoquic_cnx_t *connection, uint64_t now, uint64_t *wake, picoquic_path_t **path,
                              uint64_t fewest_timeouts, picoquic_tuple_t **tuple);

/* The path with the shortest round trip, or -1; with `needs_room`, of those that may send now. */
static int fastest(const mdc_candidate *paths, int count, int needs_room)
{
    int best = -1;

    for (int i = 0; i < count; i++)
        if ((paths[i].has_room || !needs_room) &&
            (best < 0 || paths[i].smoothed_rtt_us < paths[best].smoothed_rtt_us))
            best = i;
    return best;
}

/* The path with the shortest round trip that may send what others have sent and it has not, or -1. */
static int fastest_behind(const mdc_candidate *paths, int count)
{
    int best = -1;

    for (int i = 0; i < count; i++)
        if (paths[i].has_room && paths[i].is_behind &&
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
    int fast = fastest(paths, count, 0), open = fastest(paths, count, 1), behind = fastest_behind(paths, count);

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
    if (fastest(candidates, count, 1) < 0)
        return;
    place = endpoint->scheduler.kind == MDC_PLUGIN
                ? choose_by_plugin(endpoint, candidates, count, now)
                : mdc_choose(&endpoint->scheduler, candidates, count, unsent_bytes(endpoint),
                             endpoint->connection->maxdata_remote - endpoint->connection->data_sent + in_flight);
    if (place < 0)
        place = fastest(candidates, count, 0); /* it sends nothing now */
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
    if (endpoint->scheduler.kind == MDC_PICOQUIC || connection != endpoint->connection ||
        ((*path)->is_nominal_ack_path && picoquic_is_ack_needed(connection, now, wake, 0, 0)))
        return;
    schedule(endpoint, now, wake, fewest_timeouts, path);
    *tuple = (*path)->first_tuple;
}
