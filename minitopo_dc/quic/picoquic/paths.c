/* Addresses, and the paths between them. */
#include <arpa/inet.h>
#include <string.h>

#include "endpoint.h"

/* The build gives the two functions of picoquic that are at the end of this file these names. */
void own_demote_path(picoquic_cnx_t *connection, int index, uint64_t now, uint64_t reason);
void own_select_next_path_tuple(picoquic_cnx_t *connection, uint64_t now, uint64_t *wake, picoquic_path_t **path,
                                picoquic_tuple_t **tuple);

/* The number of an address, the same for the same one; -1: it is none, or there are too many. */
int mdc_address(mdc_endpoint *endpoint, const char *ip, int port)
{
    struct sockaddr_storage *made;

    if (endpoint->address_count == MAX_ADDRESSES)
        return -1;
    made = &endpoint->addresses[endpoint->address_count];
    memset(made, 0, sizeof(*made));
    if (inet_pton(AF_INET, ip, &((struct sockaddr_in *)made)->sin_addr) == 1) {
        made->ss_family = AF_INET;
        ((struct sockaddr_in *)made)->sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, ip, &((struct sockaddr_in6 *)made)->sin6_addr) == 1) {
        made->ss_family = AF_INET6;
        ((struct sockaddr_in6 *)made)->sin6_port = htons((uint16_t)port);
    } else {
        return -1;
    }
    return endpoint->address_count++;
}

struct sockaddr *address_of(mdc_endpoint *endpoint, int number)
{
    return (struct sockaddr *)&endpoint->addresses[number];
}

int number_of(mdc_endpoint *endpoint, const struct sockaddr_storage *address)
{
    for (int i = 0; i < endpoint->address_count; i++)
        if (picoquic_compare_addr((const struct sockaddr *)address, address_of(endpoint, i)) == 0)
            return i;
    return -1;
}

static mdc_path describe(mdc_endpoint *endpoint, const picoquic_path_t *path)
{
    const picoquic_cnx_t *connection = endpoint->connection;
    const picoquic_packet_context_t *packets =
        connection->is_multipath_enabled ? &path->pkt_ctx : &connection->pkt_ctx[picoquic_packet_context_application];

    return (mdc_path){
        .id = path->unique_path_id,
        .local = number_of(endpoint, &path->first_tuple->local_addr),
        .remote = number_of(endpoint, &path->first_tuple->peer_addr),
        .verified = path->first_tuple->challenge_verified,
        .backup = path->path_is_backup,
        .demoted = path->path_is_demoted,
        .cwnd = path->cwin,
        .in_flight = path->bytes_in_transit,
        .smoothed_rtt_us = path->rtt_is_initialized ? path->smoothed_rtt : 0,
        .minimum_rtt_us = path->rtt_is_initialized ? path->rtt_min : 0,
        .packets_sent = packets->send_sequence,
        .packets_lost = path->nb_losses_found,
        .spurious_losses = path->nb_spurious,
        .bytes_sent = path->bytes_sent,
        .bytes_received = path->received,
        .bytes_acknowledged = path->delivered,
        .bytes_lost = path->total_bytes_lost,
    };
}

/* Picoquic tells of the end of a path while it still has it. */
void keep_deleted(mdc_endpoint *endpoint, uint64_t identifier)
{
    mdc_state *state = &endpoint->state;
    int index = picoquic_get_path_id_from_unique(endpoint->connection, identifier);

    if (index < 0)
        return;
    if (make_room((void **)&endpoint->deleted, &endpoint->deleted_room, state->deleted_count + 1, sizeof(mdc_path))) {
        endpoint->failed = 1;
        return;
    }
    endpoint->deleted[state->deleted_count] = describe(endpoint, endpoint->connection->path[index]);
    state->deleted = endpoint->deleted;
    add_event(endpoint, MDC_PATH_DELETED, identifier, state->deleted_count++, 0);
}

/* Hold back new paths for which the peer has given no connection identifier yet.
 *
 * A lost PATH_NEW_CONNECTION_ID makes such a path: the peer's challenge comes before it. Picoquic
 * would answer, and read the identifier that is not there. The path goes on once it is. */
void hold_without_identifier(picoquic_cnx_t *connection, uint64_t now)
{
    for (int i = 0; i < connection->nb_paths; i++) {
        picoquic_path_t *path = connection->path[i];
        picoquic_tuple_t *tuple = path->first_tuple;

        if (tuple->p_remote_cnxid != NULL || path->path_is_demoted)
            continue;
        tuple->challenge_required = 0;
        tuple->response_required = 0;
        if (picoquic_assign_peer_cnxid_to_tuple(connection, path, tuple) == 0) {
            picoquic_set_path_challenge(connection, i, now);
            tuple->response_required = tuple->challenge_response != 0;
        }
    }
}

/* Have what is in flight on a path that is about to be deleted sent again on others.
 *
 * Picoquic frees it with the path: stream data that was neither acknowledged nor declared lost by
 * then would be missing for ever, and the connection stall to its idle timeout. */
void save_pending(picoquic_cnx_t *connection, uint64_t now)
{
    if (!connection->path_demotion_needed)
        return;
    for (int i = 0; i < connection->nb_paths; i++) {
        picoquic_path_t *path = connection->path[i];
        picoquic_packet_t *packet = path->pkt_ctx.pending_first;

        if (!path->path_is_demoted || now < path->demotion_time)
            continue;
        while (packet != NULL) {
            picoquic_packet_t *next = packet->packet_next;
            int is_pure_ack = 1, is_unique = 0, has_stream_data = 0;
            size_t copied = 0;

            picoquic_copy_before_retransmit(packet, connection, NULL, 0, &is_pure_ack, &is_unique, 1, &copied,
                                            &has_stream_data);
            picoquic_dequeue_retransmit_packet(connection, &path->pkt_ctx, packet, is_pure_ack & is_unique,
                                               has_stream_data);
            packet = next;
        }
    }
}

/* Whether picoquic would rather use one path than another: below 0 it would, above 0 the other. */
static int compare_paths(const picoquic_path_t *one, const picoquic_path_t *other)
{
    if (one->path_is_backup != other->path_is_backup)
        return one->path_is_backup ? 1 : -1;
    if (one->nb_retransmit != other->nb_retransmit)
        return one->nb_retransmit < other->nb_retransmit ? -1 : 1;
    return 0;
}

/* Have acknowledgements sent on a path that is used.
 *
 * Picoquic chooses the path for them where it has several to choose from. When one is left, as the
 * others are backups or have failed, the choice stays on one of those: then delayed
 * acknowledgements are never sent, only one every 8 packets, and a window below that stalls. */
void choose_ack_path(picoquic_cnx_t *connection)
{
    picoquic_path_t *best = NULL, *chosen = NULL;

    for (int i = 0; i < connection->nb_paths; i++) {
        picoquic_path_t *path = connection->path[i];

        if (!path->first_tuple->challenge_verified || path->path_is_demoted)
            continue;
        if (best == NULL || compare_paths(path, best) < 0)
            best = path;
        if (path->is_nominal_ack_path)
            chosen = path;
    }
    if (best == NULL || (chosen != NULL && compare_paths(chosen, best) == 0))
        return;
    for (int i = 0; i < connection->nb_paths; i++)
        connection->path[i]->is_nominal_ack_path = connection->path[i] == best;
}

int mdc_open_path(mdc_endpoint *endpoint, int local, int remote, uint64_t now)
{
    endpoint->now = now;
    /* Before, and without multipath, picoquic would move the one path there. */
    if (!is_live(endpoint) || picoquic_get_cnx_state(endpoint->connection) < picoquic_state_client_ready_start ||
        !endpoint->connection->is_multipath_enabled ||
        is_refused(endpoint->connection, address_of(endpoint, remote), address_of(endpoint, local)))
        return -1;
    /* At first picoquic looks for an identifier of path 0 in place of path 1, and uses up path 1 without one. */
    if (endpoint->connection->unique_path_id_next == 0)
        endpoint->connection->unique_path_id_next = 1;
    wake(endpoint, now);
    return picoquic_probe_new_path(endpoint->connection, address_of(endpoint, remote), address_of(endpoint, local),
                                   now);
}

int mdc_abandon_path(mdc_endpoint *endpoint, uint64_t path, uint64_t reason, uint64_t now)
{
    endpoint->now = now;
    if (!is_live(endpoint))
        return -1;
    wake(endpoint, now);
    return picoquic_abandon_path(endpoint->connection, path, reason, now);
}

int mdc_set_path_status(mdc_endpoint *endpoint, uint64_t path, int backup, uint64_t now)
{
    endpoint->now = now;
    if (!is_live(endpoint) || picoquic_get_path_id_from_unique(endpoint->connection, path) < 0)
        return -1;
    wake(endpoint, now);
    return picoquic_set_path_status(endpoint->connection, path,
                                    backup ? picoquic_path_status_backup : picoquic_path_status_available);
}

/* The paths that there are now, `room` at most; how many. */
int mdc_paths(mdc_endpoint *endpoint, mdc_path *paths, int room)
{
    int count = endpoint->connection == NULL ? 0 : endpoint->connection->nb_paths;

    if (count > room)
        count = room;
    for (int i = 0; i < count; i++)
        paths[i] = describe(endpoint, endpoint->connection->path[i]);
    return count;
}

/* What becomes of a path that is given up, "demoted", and how picoquic's version of 2022 had it (commit
 * 48525d89, which Kraemer et al. used). Both ends have to do the same. */

static int has(const picoquic_cnx_t *connection, int behaviour)
{
    const mdc_endpoint *endpoint = connection->quic->default_callback_ctx;

    return connection->is_multipath_enabled && (endpoint->demoted & behaviour) != 0;
}

/* Put the first path that is in use, or at least has a connection identifier, in the first place.
 *
 * Picoquic takes the length of all headers from the first path's identifier. */
static void replace_first(picoquic_cnx_t *connection)
{
    picoquic_path_t *first = connection->path[0];
    int best = 0;

    for (int i = connection->nb_paths - 1; i > 0; i--)
        if (connection->path[i]->first_tuple->p_remote_cnxid != NULL &&
            (best == 0 || !connection->path[i]->path_is_demoted || connection->path[best]->path_is_demoted))
            best = i;
    connection->path[0] = connection->path[best];
    connection->path[best] = first;
}

/* The path stays for three probe timeouts of at least 1 s, with its connection identifier. */
static void linger(picoquic_cnx_t *connection, int index, uint64_t now, uint64_t reason)
{
    picoquic_path_t *path = connection->path[index];
    uint64_t timer = path->retransmit_timer;

    if (timer < PICOQUIC_INITIAL_MAX_RETRANSMIT_TIMER)
        timer = PICOQUIC_INITIAL_MAX_RETRANSMIT_TIMER;
    path->path_is_demoted = 1;
    path->demotion_time = now + 3 * timer;
    connection->path_demotion_needed = 1;
    if (!path->path_abandon_sent && picoquic_queue_path_abandon_frame(connection, path->unique_path_id, reason) == 0)
        path->path_abandon_sent = 1;
    if (index == 0 && !has(connection, MDC_DEMOTED_FALL_BACK))
        replace_first(connection);
}

void picoquic_demote_path(picoquic_cnx_t *connection, int index, uint64_t now, uint64_t reason)
{
    if (!has(connection, MDC_DEMOTED_LINGER))
        own_demote_path(connection, index, now, reason);
    else if (connection->path[index]->path_is_demoted)
        return;
    else if (picoquic_nb_paths_not_demoted(connection) < 2)
        picoquic_connection_error_ex(connection, PICOQUIC_TRANSPORT_APPLICATION_ABANDON,
                                     picoquic_frame_type_path_abandon, "no path is left");
    else
        linger(connection, index, now, reason);
}

/* Whether pacing lets none of the paths send that are used. */
static int all_are_paced(picoquic_cnx_t *connection, uint64_t now, uint64_t *wake)
{
    for (int i = 0; i < connection->nb_paths; i++) {
        picoquic_path_t *path = connection->path[i];

        if (path->first_tuple->challenge_verified && !path->path_is_demoted &&
            picoquic_is_sending_authorized_by_pacing(connection, path, now, wake))
            return 0;
    }
    return 1;
}

/* With no path to send on it was the first one's turn, demoted or not. */
void picoquic_select_next_path_tuple(picoquic_cnx_t *connection, uint64_t now, uint64_t *wake, picoquic_path_t **path,
                                     picoquic_tuple_t **tuple)
{
    if (has(connection, MDC_DEMOTED_LINGER) && connection->path[0]->first_tuple->p_remote_cnxid == NULL)
        replace_first(connection);
    own_select_next_path_tuple(connection, now, wake, path, tuple);
    if (!has(connection, MDC_DEMOTED_FALL_BACK) || !connection->path[0]->path_is_demoted || *path == NULL ||
        *tuple != (*path)->first_tuple || !(*tuple)->challenge_verified || (*tuple)->response_required)
        return;
    if (all_are_paced(connection, now, wake)) {
        *path = connection->path[0];
        *tuple = (*path)->first_tuple;
    }
}

/* Whether a new path is refused, as there is one between the same addresses, demoted or not. */
int is_refused(const picoquic_cnx_t *connection, const struct sockaddr *remote, const struct sockaddr *local)
{
    if (!has(connection, MDC_DEMOTED_REFUSE))
        return 0;
    for (int i = 0; i < connection->nb_paths; i++) {
        const picoquic_tuple_t *tuple = connection->path[i]->first_tuple;

        if (picoquic_compare_addr((const struct sockaddr *)&tuple->peer_addr, remote) == 0 &&
            picoquic_compare_addr((const struct sockaddr *)&tuple->local_addr, local) == 0)
            return 1;
    }
    return 0;
}

/* Of a tunnel: a DATAGRAM frame that was `sent` then is lost. If nothing behind it was acknowledged, a timer
 * said so, and other paths are preferred until an acknowledgement, also of a probe, comes back.
 *
 * Picoquic counts timeouts of what it repeats only, so that a tunnel would stay on a path that is dark. */
void count_timeout(picoquic_cnx_t *connection, uint64_t sent)
{
    for (int i = 0; i < connection->nb_paths; i++) {
        picoquic_path_t *path = connection->path[i];
        const picoquic_packet_context_t *packets = &path->pkt_ctx;

        if (packets->pending_first != NULL && packets->pending_first->send_time == sent && path->nb_retransmit == 0 &&
            (packets->highest_acknowledged == UINT64_MAX ||
             packets->pending_first->sequence_number > packets->highest_acknowledged))
            path->nb_retransmit = 1;
    }
}
