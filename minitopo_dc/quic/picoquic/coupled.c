/* Congestion control that couples the windows of a connection's paths: LIA (RFC 6356) and OLIA
 * (Khalili, Gast, Popovic, Upadhyay, Le Boudec, CoNEXT 2012; draft-khalili-mptcp-congestion-control).
 *
 * Only the increase in congestion avoidance is coupled; slow start and what a loss does are those of
 * picoquic's NewReno, each path by itself. With one path both are NewReno. */
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

#include "cc_common.h"
#include "picoquic_cubic.h"

typedef struct {
    picoquic_newreno_sim_state_t reno;
    picoquic_min_max_rtt_t filter;
    uint64_t before;  /* bytes acknowledged between the last two losses */
    uint64_t since;   /* and since the last one */
    double fraction;  /* of a byte, by which the window is to change yet */
} coupled_state;

static picoquic_congestion_algorithm_t lia, olia;

static int counts(const picoquic_path_t *path)
{
    return path->congestion_alg_state != NULL && path->first_tuple->challenge_verified && !path->path_is_demoted &&
           !path->path_is_backup;
}

static double window(const picoquic_path_t *path)
{
    return (double)path->cwin / (double)path->send_mtu;
}

static double round_trip(const picoquic_path_t *path)
{
    return path->smoothed_rtt > 0 ? (double)path->smoothed_rtt : 1.0;
}

static double square(double value)
{
    return value * value;
}

/* What both divide by: the square of the sum of all paths' rates. */
static double total_rate_squared(const picoquic_cnx_t *connection)
{
    double rate = 0;

    for (int i = 0; i < connection->nb_paths; i++)
        if (counts(connection->path[i]))
            rate += window(connection->path[i]) / round_trip(connection->path[i]);
    return square(rate);
}

/* RFC 6356, section 3: packets by which the window grows for a packet acknowledged. */
static double lia_increase(const picoquic_cnx_t *connection, const picoquic_path_t *path)
{
    double best = 0, coupled;

    for (int i = 0; i < connection->nb_paths; i++) {
        const picoquic_path_t *other = connection->path[i];

        if (counts(other) && window(other) / square(round_trip(other)) > best)
            best = window(other) / square(round_trip(other));
    }
    coupled = best / total_rate_squared(connection);
    return coupled < 1 / window(path) ? coupled : 1 / window(path);
}

/* The rate that a path is taken to be able to have: l^2 / rtt. */
static double quality(const picoquic_path_t *path)
{
    const coupled_state *state = path->congestion_alg_state;
    double between = (double)(state->before > state->since ? state->before : state->since);

    return square(between) / round_trip(path);
}

/* Section 3 of the draft: alpha takes from the paths with the largest windows and gives to the best
 * paths whose windows are smaller. */
static double alpha(const picoquic_cnx_t *connection, const picoquic_path_t *path)
{
    double best = 0, largest = 0;
    int paths = 0, with_largest = 0, collected = 0;

    for (int i = 0; i < connection->nb_paths; i++) {
        const picoquic_path_t *other = connection->path[i];

        if (!counts(other))
            continue;
        paths++;
        best = quality(other) > best ? quality(other) : best;
        largest = window(other) > largest ? window(other) : largest;
    }
    for (int i = 0; i < connection->nb_paths; i++) {
        const picoquic_path_t *other = connection->path[i];

        if (!counts(other))
            continue;
        if (window(other) == largest)
            with_largest++;
        else if (quality(other) == best)
            collected++;
    }
    if (collected == 0)
        return 0;
    if (window(path) == largest)
        return -1.0 / paths / with_largest;
    return quality(path) == best ? 1.0 / paths / collected : 0;
}

static double olia_increase(const picoquic_cnx_t *connection, const picoquic_path_t *path)
{
    return window(path) / square(round_trip(path)) / total_rate_squared(connection) +
           alpha(connection, path) / window(path);
}

static void reset(picoquic_path_t *path)
{
    coupled_state *state = path->congestion_alg_state;

    memset(state, 0, sizeof(*state));
    picoquic_newreno_sim_reset(&state->reno);
    path->cwin = state->reno.cwin;
}

static void begin(picoquic_path_t *path, const char *option, uint64_t now)
{
    (void)option;
    (void)now;
    path->congestion_alg_state = malloc(sizeof(coupled_state));
    if (path->congestion_alg_state != NULL)
        reset(path);
}

static double wanted_increase(const picoquic_cnx_t *connection, const picoquic_path_t *path)
{
    if (!counts(path))
        return 1 / window(path);
    return connection->congestion_alg == &lia ? lia_increase(connection, path) : olia_increase(connection, path);
}

static void grow(coupled_state *state, const picoquic_cnx_t *connection, const picoquic_path_t *path, uint64_t bytes)
{
    double change = state->fraction + (double)bytes * wanted_increase(connection, path);
    int64_t whole = (int64_t)change;

    state->fraction = change - (double)whole;
    if (whole < 0 && state->reno.cwin < PICOQUIC_CWIN_MINIMUM + (uint64_t)-whole)
        state->reno.cwin = PICOQUIC_CWIN_MINIMUM;
    else
        state->reno.cwin += (uint64_t)whole;
}

static void acknowledged(coupled_state *state, picoquic_cnx_t *connection, picoquic_path_t *path,
                         picoquic_per_ack_state_t *ack, uint64_t now)
{
    state->since += ack->nb_bytes_acknowledged;
    if (path->last_time_acked_data_frame_sent <= path->last_sender_limited_time)
        return; /* the application, not the window, was the limit */
    if (state->reno.alg_state == picoquic_newreno_alg_slow_start)
        picoquic_newreno_sim_notify(&state->reno, connection, path, picoquic_congestion_notification_acknowledgement,
                                    ack, now);
    else
        grow(state, connection, path, ack->nb_bytes_acknowledged);
}

static int in_first_slow_start(const coupled_state *state)
{
    return state->reno.alg_state == picoquic_newreno_alg_slow_start && state->reno.ssthresh == UINT64_MAX;
}

/* A round trip that has become longer ends the first slow start, as with NewReno. */
static void measured(coupled_state *state, picoquic_cnx_t *connection, picoquic_path_t *path,
                     picoquic_per_ack_state_t *ack, uint64_t now)
{
    int one_way = connection->is_time_stamp_enabled;

    if (in_first_slow_start(state) &&
        picoquic_cc_hystart_test(&state->filter, one_way ? ack->one_way_delay : ack->rtt_measurement,
                                 path->pacing.packet_time_microsec, now, one_way)) {
        state->reno.ssthresh = state->reno.cwin;
        state->reno.alg_state = picoquic_newreno_alg_congestion_avoidance;
        path->is_ssthresh_initialized = 1;
    }
}

static void lost(coupled_state *state, picoquic_cnx_t *connection, picoquic_path_t *path,
                 picoquic_congestion_notification_t what, picoquic_per_ack_state_t *ack, uint64_t now)
{
    uint64_t recovery = state->reno.recovery_sequence;

    picoquic_newreno_sim_notify(&state->reno, connection, path, what, ack, now);
    if (state->reno.recovery_sequence != recovery) {
        state->before = state->since;
        state->since = 0;
    }
}

static void notify(picoquic_cnx_t *connection, picoquic_path_t *path, picoquic_congestion_notification_t what,
                   picoquic_per_ack_state_t *ack, uint64_t now)
{
    coupled_state *state = path->congestion_alg_state;

    path->is_cc_data_updated = 1;
    if (state == NULL)
        return;
    switch (what) {
    case picoquic_congestion_notification_acknowledgement:
        acknowledged(state, connection, path, ack, now);
        break;
    case picoquic_congestion_notification_rtt_measurement:
        measured(state, connection, path, ack, now);
        break;
    case picoquic_congestion_notification_reset:
        reset(path);
        break;
    default:
        lost(state, connection, path, what, ack, now);
    }
    path->cwin = state->reno.cwin;
    picoquic_update_pacing_data(path, in_first_slow_start(state));
}

static void end(picoquic_path_t *path)
{
    free(path->congestion_alg_state);
    path->congestion_alg_state = NULL;
}

static void observe(picoquic_path_t *path, uint64_t *phase, uint64_t *threshold)
{
    const coupled_state *state = path->congestion_alg_state;

    *phase = state->reno.alg_state;
    *threshold = state->reno.ssthresh == UINT64_MAX ? 0 : state->reno.ssthresh;
}

/* Their number is NewReno's: by it picoquic acknowledges as NewReno needs it. */
static picoquic_congestion_algorithm_t lia = {
    "lia", PICOQUIC_CC_ALGO_NUMBER_NEW_RENO, PICOQUIC_ECN_ECT_0, begin, notify, end, observe,
};
static picoquic_congestion_algorithm_t olia = {
    "olia", PICOQUIC_CC_ALGO_NUMBER_NEW_RENO, PICOQUIC_ECN_ECT_0, begin, notify, end, observe,
};

/* A congestion control by its name, also of picoquic's own; NULL: there is none. */
picoquic_congestion_algorithm_t const *congestion_algorithm(const char *name)
{
    static picoquic_congestion_algorithm_t cubic_picoquic;
    picoquic_congestion_algorithm_t const *own[] = {&lia, &olia, &cubic_rfc9438, &cubic_picoquic};

    cubic_picoquic = *picoquic_cubic_algorithm;
    cubic_picoquic.congestion_algorithm_id = "cubic-picoquic"; /* `cubic` is RFC 9438's */
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(name, own[i]->congestion_algorithm_id) == 0)
            return own[i];
    picoquic_register_all_congestion_control_algorithms();
    return picoquic_get_congestion_algorithm(name);
}
