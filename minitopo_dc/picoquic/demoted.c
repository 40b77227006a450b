/* What becomes of a path that is given up, "demoted", and how picoquic's version of 2022 had it (commit
 * 48525d89, which Kraemer et al. used). Both ends have to do the same.
 *
 * The build gives the two functions of picoquic that are here the names of the declarations below. */
#include "endpoint.h"

void own_demote_path(picoquic_cnx_t *connection, int index, uint64_t now, uint64_t reason);
void own_select_next_path_tuple(picoquic_cnx_t *connection, uint64_t now, uint64_t *wake, picoquic_path_t **path,
                                picoquic_tuple_t **tuple);

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
