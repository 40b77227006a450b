/* CUBIC as RFC 9438 has it, each path by itself: every loss counts, where picoquic's own CUBIC answers
 * losses only when it takes more than 15 % of the packets for lost.
 *
 * The first half is the RFC's arithmetic, in segments and seconds, without picoquic; the second one
 * tells it what picoquic knows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

#include "cc_common.h"

#define BETA 0.7           /* section 4.6 */
#define C 0.4              /* section 5.1, segments/s^3 */
#define MIN_WINDOW 2.0     /* RFC 9002, section 7.2 */
#define NO_EPOCH (-1.0)
#define COLLAPSE_AFTER 2   /* probe timeouts in a row before the one that is persistent congestion */

void mdc_cubic_begin(mdc_cubic *cubic, double window)
{
    *cubic = (mdc_cubic){.window = window, .threshold = INFINITY, .epoch = NO_EPOCH};
}

/* Figure 1: the window t seconds into congestion avoidance. */
double mdc_cubic_window(const mdc_cubic *cubic, double t)
{
    double from_k = t - cubic->k;

    return C * from_k * from_k * from_k + cubic->w_max;
}

/* Congestion avoidance begins. Where the window has not come from below w_max, as after slow start,
 * K is 0 and w_max the window (sections 4.8 and 4.10). */
static void begin_epoch(mdc_cubic *cubic, double now)
{
    cubic->epoch = now;
    cubic->w_est = cubic->window;
    if (cubic->window >= cubic->w_max)
        cubic->w_max = cubic->window;
    cubic->k = cbrt((cubic->w_max - cubic->window) / C);
}

/* Sections 4.2 to 4.5: acknowledged in congestion avoidance. */
static void grow(mdc_cubic *cubic, double segments, double round_trip, double now)
{
    double alpha, target;

    if (cubic->epoch < 0)
        begin_epoch(cubic, now);
    alpha = cubic->w_est < cubic->prior ? 3 * (1 - BETA) / (1 + BETA) : 1;
    cubic->w_est += alpha * segments / cubic->window;
    if (mdc_cubic_window(cubic, now - cubic->epoch) < cubic->w_est) {
        cubic->window = cubic->w_est;
        return;
    }
    target = mdc_cubic_window(cubic, now - cubic->epoch + round_trip);
    target = fmin(fmax(target, cubic->window), 1.5 * cubic->window);
    cubic->window = fmin(target, cubic->window + (target - cubic->window) / cubic->window * segments);
}

/* So many segments are newly acknowledged, and the window was what held the sender back. */
void mdc_cubic_acknowledged(mdc_cubic *cubic, double segments, double round_trip, double now)
{
    if (cubic->window >= cubic->threshold)
        grow(cubic, segments, round_trip, now);
    else
        cubic->window = fmin(cubic->window + segments, cubic->threshold);
}

/* Sections 4.6 and 4.7: a congestion event. */
void mdc_cubic_lost(mdc_cubic *cubic)
{
    cubic->prior = cubic->window;
    cubic->w_max = cubic->window < cubic->w_max ? cubic->window * (1 + BETA) / 2 : cubic->window;
    cubic->window = cubic->threshold = fmax(BETA * cubic->window, MIN_WINDOW);
    cubic->epoch = NO_EPOCH;
}

/* Section 4.8: persistent congestion (RFC 9002, section 7.6). */
void mdc_cubic_collapsed(mdc_cubic *cubic)
{
    mdc_cubic_lost(cubic);
    cubic->w_max = 0;
    cubic->window = MIN_WINDOW;
}

typedef struct {
    mdc_cubic cubic;
    mdc_cubic before;         /* the last congestion event */
    uint64_t recovery;        /* number of the first packet sent after it */
    uint64_t first_lost;      /* of the packets that were lost in it, */
    uint64_t lost;            /* and how many are still taken for lost */
    uint64_t acknowledged_at; /* us */
    picoquic_min_max_rtt_t filter;
} path_state;

static void reset(path_state *state)
{
    memset(state, 0, sizeof(*state));
    mdc_cubic_begin(&state->cubic, (double)PICOQUIC_CWIN_INITIAL / PICOQUIC_MAX_PACKET_SIZE);
}

static void put(picoquic_path_t *path, const path_state *state)
{
    path->cwin = (uint64_t)(state->cubic.window * (double)path->send_mtu);
}

static void begin(picoquic_path_t *path, const char *option, uint64_t now)
{
    path_state *state = malloc(sizeof(*state));

    (void)option;
    (void)now;
    path->congestion_alg_state = state;
    if (state == NULL)
        return;
    reset(state);
    put(path, state);
}

static void acknowledged(path_state *state, picoquic_cnx_t *connection, picoquic_path_t *path,
                         const picoquic_per_ack_state_t *ack, uint64_t now)
{
    int is_limited = path->last_time_acked_data_frame_sent <= path->last_sender_limited_time;
    int slow_start = state->cubic.window < state->cubic.threshold;
    uint64_t bytes = ack->nb_bytes_acknowledged, waited = now - state->acknowledged_at;

    state->acknowledged_at = now;
    if (is_limited && state->cubic.epoch >= 0)
        state->cubic.epoch += (double)waited / 1e6; /* section 5.8: such time does not count */
    if (is_limited || picoquic_cc_get_ack_number(connection, path) < state->recovery)
        return; /* RFC 9002, section 7.3.2: nor does the window grow in recovery */
    if (slow_start)
        bytes = picoquic_cc_slow_start_increase(path, bytes);
    mdc_cubic_acknowledged(&state->cubic, (double)bytes / (double)path->send_mtu, (double)path->smoothed_rtt / 1e6,
                           (double)now / 1e6);
}

/* A round trip that has become longer ends the first slow start (section 4.10), as with the others. */
static void measured(path_state *state, picoquic_cnx_t *connection, picoquic_path_t *path,
                     const picoquic_per_ack_state_t *ack, uint64_t now)
{
    const mdc_endpoint *endpoint = connection->quic->default_callback_ctx;
    int one_way = connection->is_time_stamp_enabled;

    if (endpoint->experiment != NO_HYSTART && isinf(state->cubic.threshold) &&
        picoquic_cc_hystart_test(&state->filter, one_way ? ack->one_way_delay : ack->rtt_measurement,
                                 path->pacing.packet_time_microsec, now, one_way)) {
        state->cubic.threshold = state->cubic.window;
        path->is_ssthresh_initialized = 1;
    }
}

/* Picoquic sends what a probe timeout repeats as if it were lost: the first timeouts count as any
 * loss, and when as many in a row show persistent congestion, the window collapses. */
static void lost(path_state *state, picoquic_cnx_t *connection, picoquic_path_t *path,
                 const picoquic_per_ack_state_t *ack, int timeout)
{
    int collapse = timeout && path->nb_retransmit >= COLLAPSE_AFTER;

    if (ack->lost_packet_number < state->recovery && !collapse) {
        state->lost++;
        if (ack->lost_packet_number < state->first_lost)
            state->first_lost = ack->lost_packet_number;
        return;
    }
    state->before = state->cubic;
    state->first_lost = ack->lost_packet_number;
    state->lost = 1;
    state->recovery = picoquic_cc_get_sequence_number(connection, path);
    path->is_ssthresh_initialized = 1;
    if (collapse)
        mdc_cubic_collapsed(&state->cubic);
    else
        mdc_cubic_lost(&state->cubic);
}

/* Section 4.9: when all that was taken for lost has come, there was no congestion event. */
static void arrived(path_state *state, const picoquic_per_ack_state_t *ack)
{
    uint64_t number = ack->lost_packet_number;

    if (state->lost == 0 || number < state->first_lost || number >= state->recovery || --state->lost > 0)
        return;
    if (state->cubic.window < state->before.window)
        state->cubic = state->before;
}

static void notify(picoquic_cnx_t *connection, picoquic_path_t *path, picoquic_congestion_notification_t what,
                   picoquic_per_ack_state_t *ack, uint64_t now)
{
    path_state *state = path->congestion_alg_state;

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
    case picoquic_congestion_notification_repeat:
    case picoquic_congestion_notification_ecn_ec:
        lost(state, connection, path, ack, 0);
        break;
    case picoquic_congestion_notification_timeout:
        lost(state, connection, path, ack, 1);
        break;
    case picoquic_congestion_notification_spurious_repeat:
        arrived(state, ack);
        break;
    case picoquic_congestion_notification_reset:
        reset(state);
        break;
    default:
        return;
    }
    put(path, state);
    picoquic_update_pacing_data(path, isinf(state->cubic.threshold));
}

static void end(picoquic_path_t *path)
{
    free(path->congestion_alg_state);
    path->congestion_alg_state = NULL;
}

static void observe(picoquic_path_t *path, uint64_t *phase, uint64_t *threshold)
{
    const mdc_cubic *cubic = &((path_state *)path->congestion_alg_state)->cubic;

    *phase = cubic->window >= cubic->threshold;
    *threshold = isinf(cubic->threshold) ? 0 : (uint64_t)(cubic->threshold * (double)path->send_mtu);
}

/* Its number is picoquic's CUBIC's: acknowledgements are asked for as for that. */
picoquic_congestion_algorithm_t const cubic_rfc9438 = {
    "cubic", PICOQUIC_CC_ALGO_NUMBER_CUBIC, PICOQUIC_ECN_ECT_0, begin, notify, end, observe,
};
