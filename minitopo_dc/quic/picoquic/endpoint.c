/* One endpoint with one connection of picoquic, driven from Python with few calls per datagram.
 *
 * Time is an argument (us), as everywhere in picoquic; there is no socket and no thread here.
 * Addresses are numbers that mdc_address gives, so that no call converts one. What happens is kept
 * as events and as the streams' bytes, one behind the other, until Python has read them
 * (mdc_taken): so a datagram costs one call, and Python is not called back.
 */
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

static int set_transport_parameters(picoquic_quic_t *quic, const mdc_configuration *configuration)
{
    picoquic_tp_t parameters = *picoquic_get_default_tp(quic);

    if (configuration->max_data)
        parameters.initial_max_data = configuration->max_data;
    if (configuration->max_stream_data) {
        parameters.initial_max_stream_data_bidi_local = configuration->max_stream_data;
        parameters.initial_max_stream_data_bidi_remote = configuration->max_stream_data;
        parameters.initial_max_stream_data_uni = configuration->max_stream_data;
    }
    parameters.max_idle_timeout = configuration->idle_timeout_ms;
    parameters.initial_max_path_id = configuration->multipath;
    parameters.max_datagram_frame_size = configuration->datagram_frame; /* a server follows its client */
    return picoquic_set_default_tp(quic, &parameters);
}

/* The experiment of a name; -1: there is none. */
static int experiment_of(const char *name)
{
    static const char *const names[] = {"", "no-hystart", "no-pacing", "frequent-acks"};

    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
        if (strcmp(name == NULL ? "" : name, names[i]) == 0)
            return i;
    return -1;
}

static const char *configure(mdc_endpoint *endpoint, const mdc_configuration *configuration)
{
    picoquic_quic_t *quic = endpoint->quic;
    picoquic_congestion_algorithm_t const *algorithm;

    if (experiment_of(configuration->experiment) < 0)
        return "picoquic's experiments: no-hystart, no-pacing, frequent-acks";
    endpoint->experiment = (experiment_kind)experiment_of(configuration->experiment);
    algorithm = congestion_algorithm(configuration->congestion_control);
    if (algorithm == NULL)
        return "no such congestion control";
    picoquic_set_default_congestion_algorithm(quic, algorithm);
    picoquic_set_default_multipath_option(quic, configuration->multipath > 0);
    if (set_transport_parameters(quic, configuration))
        return "transport parameters were refused";
    picoquic_set_default_idle_timeout(quic, configuration->idle_timeout_ms);
    picoquic_set_default_pmtud_policy(quic, picoquic_pmtud_blocked);
    picoquic_set_mtu_max(quic, (uint32_t)configuration->datagram_bytes);
    picoquic_disable_port_blocking(quic, 1);
    picoquic_enable_path_callbacks_default(quic, 1);
    /* Holes in the numbers of packets against peers that acknowledge what they have not: random, and
     * nothing that one's own peer does. */
    picoquic_set_optimistic_ack_policy(quic, 0);
    if (configuration->takes_turns)
        picoquic_set_default_priority(quic, PICOQUIC_DEFAULT_STREAM_PRIORITY - 1); /* even: round robin */
    if (configuration->qlog != NULL && picoquic_set_qlog(quic, configuration->qlog))
        return "qlog was refused";
    /* Late packets of a path that is gone must not end the connection. */
    quic->stateless_reset_next_time = UINT64_MAX;
    return NULL;
}

/* Whether there is another attempt at a connection than this one. */
static int has_other(const mdc_endpoint *endpoint)
{
    return picoquic_get_next_cnx(picoquic_get_first_cnx(endpoint->quic)) != NULL;
}

/* Why the connection has ended, with words for an error that picoquic has none for. */
static void set_reason(mdc_endpoint *endpoint)
{
    picoquic_cnx_t *connection = endpoint->connection;
    uint64_t error = picoquic_get_local_error(connection);

    error = error ? error : picoquic_get_remote_error(connection);
    error = error ? error : picoquic_get_application_error(connection);
    endpoint->state.error = error;
    if (error)
        endpoint->state.reason = error == PICOQUIC_ERROR_PATH_LAST_REMAINING
                                     ? "no path is left, the last one failed its validation"
                                     : picoquic_error_name(error);
}

/* Of a server's connection nothing can be asked afterwards: picoquic deletes it. */
static void be_gone(mdc_endpoint *endpoint, uint64_t by)
{
    if (endpoint->is_gone)
        return;
    if (!endpoint->is_client && !endpoint->is_decided && has_other(endpoint)) {
        endpoint->connection = NULL; /* the client has given up this attempt */
        return;
    }
    set_reason(endpoint);
    add_event(endpoint, MDC_CLOSED, by, 0, 0);
    endpoint->is_gone = 1;
}

/* Whether a server's connection has got so far that it is one. Before, it may be garbage that looked
 * like the beginning of one, or a client that did not like the certificate: picoquic forgets it. */
static int is_beginning(picoquic_call_back_event_t event)
{
    return event == picoquic_callback_almost_ready || event == picoquic_callback_ready ||
           event == picoquic_callback_stream_data || event == picoquic_callback_stream_fin;
}

static void be_ready(mdc_endpoint *endpoint)
{
    const picoquic_cnx_t *connection = endpoint->connection;

    endpoint->state.version = picoquic_supported_versions[connection->version_index].version;
    endpoint->state.is_multipath = connection->is_multipath_enabled;
    endpoint->state.congestion_control = connection->congestion_alg->congestion_algorithm_id;
    add_event(endpoint, MDC_READY, 0, 0, 0);
}

/* A client may send from the end of the handshake on, one round trip before the server has confirmed it; a
 * server's handshake is complete and confirmed at once. */
static int is_complete(const mdc_endpoint *endpoint, picoquic_call_back_event_t event)
{
    return event == (endpoint->is_client ? picoquic_callback_almost_ready : picoquic_callback_ready);
}

/* Keep one of several attempts at a connection: a client the first whose handshake is complete, a server the
 * one on which the client sends data. */
static void decide(mdc_endpoint *endpoint, picoquic_cnx_t *kept, picoquic_call_back_event_t event)
{
    picoquic_cnx_t *other = picoquic_get_first_cnx(endpoint->quic);
    int is_data = event == picoquic_callback_stream_data || event == picoquic_callback_stream_fin;

    if (endpoint->is_decided || endpoint->is_gone || !(endpoint->is_client ? is_complete(endpoint, event) : is_data))
        return;
    endpoint->is_decided = 1;
    if (endpoint->connection != kept) {
        endpoint->connection = kept;
        if (!endpoint->is_client)
            be_ready(endpoint);
    }
    for (; endpoint->is_client && other != NULL; other = picoquic_get_next_cnx(other))
        if (other != kept)
            picoquic_close(other, 0);
}

static int on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
             picoquic_call_back_event_t event, void *context, void *stream_context)
{
    mdc_endpoint *endpoint = context;

    if (endpoint->connection == NULL && !endpoint->is_gone && is_beginning(event))
        endpoint->connection = connection; /* a server's first */
    decide(endpoint, connection, event);
    if (connection != endpoint->connection)
        return 0;
    if (is_complete(endpoint, event))
        be_ready(endpoint);
    switch (event) {
    case picoquic_callback_stream_data:
        if (stream_context == NULL && length > 0) { /* its first: when they came is a result */
            picoquic_set_app_stream_ctx(connection, stream, endpoint);
            endpoint->state.notable_count++;
        }
        add_input(endpoint, MDC_DATA, stream, bytes, length);
        break;
    case picoquic_callback_stream_fin:
        add_input(endpoint, MDC_DATA, stream, bytes, length);
        add_event(endpoint, MDC_FIN, stream, 0, 0);
        break;
    case picoquic_callback_stream_reset:
    case picoquic_callback_stop_sending:
        add_event(endpoint, MDC_RESET, stream, 0, 0);
        break;
    case picoquic_callback_datagram:
        add_input(endpoint, MDC_DATAGRAM_FRAME, 0, bytes, length);
        break;
    case picoquic_callback_datagram_lost:
        if (endpoint->is_tunnel)
            count_timeout(connection, stream);
        break;
    case picoquic_callback_prepare_to_send:
        fill(endpoint, stream, bytes, length);
        break;
    case picoquic_callback_ready:
        add_event(endpoint, MDC_CONFIRMED, 0, 0, 0);
        break;
    case picoquic_callback_stateless_reset:
        be_gone(endpoint, MDC_STATELESS_RESET);
        break;
    case picoquic_callback_close:
        be_gone(endpoint, connection->local_error ? MDC_LOCALLY : MDC_BY_PEER);
        break;
    case picoquic_callback_application_close:
        be_gone(endpoint, MDC_BY_PEER_APPLICATION);
        break;
    case picoquic_callback_path_available:
        add_event(endpoint, MDC_PATH_AVAILABLE, stream, 0, 0);
        break;
    case picoquic_callback_path_suspended:
        add_event(endpoint, MDC_PATH_SUSPENDED, stream, 0, 0);
        break;
    case picoquic_callback_path_deleted:
        keep_deleted(endpoint, stream);
        break;
    default:
        break;
    }
    return endpoint->failed ? -1 : 0;
}

mdc_endpoint *mdc_create(const mdc_configuration *configuration, const char **error)
{
    mdc_endpoint *endpoint = calloc(1, sizeof(mdc_endpoint));
    const char *certificate = configuration->is_client ? NULL : configuration->certificate;
    const char *roots = configuration->is_client ? configuration->certificate : NULL;
    uint8_t reset_seed[PICOQUIC_RESET_SECRET_SIZE] = {0};

    *error = "no memory";
    if (endpoint == NULL)
        return NULL;
    endpoint->is_client = configuration->is_client;
    endpoint->is_tunnel = configuration->is_tunnel;
    endpoint->now = configuration->now;
    endpoint->demoted = configuration->demoted;
    endpoint->scheduler = configuration->scheduler;
    endpoint->chosen = UINT64_MAX;
    endpoint->datagram_bytes = configuration->datagram_bytes;
    endpoint->alpn = strdup(configuration->alpn);
    endpoint->server_name = strdup(configuration->server_name);
    endpoint->quic = picoquic_create(8, certificate, configuration->is_client ? NULL : configuration->key, roots, configuration->alpn,
                                     on_event, endpoint, NULL, NULL, reset_seed, configuration->now, &endpoint->now, NULL, NULL, 0);
    if (endpoint->quic == NULL)
        *error = "picoquic refused the certificate or the key";
    else
        *error = configure(endpoint, configuration);
    if (*error != NULL) {
        mdc_free(endpoint);
        return NULL;
    }
    endpoint->state.wake = UINT64_MAX;
    return endpoint;
}

void mdc_free(mdc_endpoint *endpoint)
{
    if (endpoint == NULL)
        return;
    endpoint->is_gone = 1;
    if (endpoint->quic != NULL)
        picoquic_free(endpoint->quic); /* and its connections */
    while (endpoint->patterns != NULL)
        drop_pattern(endpoint, endpoint->patterns->stream);
    free(endpoint->alpn);
    free(endpoint->server_name);
    free(endpoint->output);
    free(endpoint->datagrams);
    free(endpoint->input);
    free(endpoint->events);
    free(endpoint->deleted);
    free(endpoint);
}

mdc_state *mdc_get_state(mdc_endpoint *endpoint)
{
    return &endpoint->state;
}

int mdc_connect(mdc_endpoint *endpoint, int local, int remote, uint64_t now)
{
    picoquic_cnx_t *attempt;

    endpoint->now = now;
    attempt = picoquic_create_cnx(endpoint->quic, picoquic_null_connection_id, picoquic_null_connection_id,
                                  address_of(endpoint, remote), now, 0, endpoint->server_name, endpoint->alpn, 1);
    if (attempt == NULL)
        return -1;
    if (endpoint->connection == NULL)
        endpoint->connection = attempt;
    picoquic_set_callback(attempt, on_event, endpoint);
    picoquic_set_local_addr(attempt, address_of(endpoint, local));
    endpoint->state.wake = now;
    return picoquic_start_client_cnx(attempt);
}

/* Whether Python is to read events and input now; -1: the endpoint has failed. */
static int worth_reading(const mdc_endpoint *endpoint)
{
    if (endpoint->failed)
        return -1;
    return endpoint->state.notable_count > 0 || endpoint->state.input_length >= ENOUGH_INPUT;
}

/* Picoquic deletes a server's connection when it has ended. */
static void forget_deleted(mdc_endpoint *endpoint)
{
    picoquic_cnx_t *connection = picoquic_get_first_cnx(endpoint->quic);

    while (connection != NULL && connection != endpoint->connection)
        connection = picoquic_get_next_cnx(connection);
    if (connection == NULL)
        endpoint->connection = NULL;
}

int mdc_receive(mdc_endpoint *endpoint, const uint8_t *datagram, size_t length, int from, int to, int ecn,
                uint64_t now)
{
    uint8_t copy[MAX_DATAGRAM]; /* picoquic decrypts in place */

    endpoint->now = now;
    if (length > sizeof(copy))
        return -1;
    memcpy(copy, datagram, length);
    picoquic_incoming_packet(endpoint->quic, copy, length, address_of(endpoint, from), address_of(endpoint, to), 0,
                             (unsigned char)ecn, now);
    forget_deleted(endpoint);
    endpoint->state.wake = now;
    return worth_reading(endpoint);
}

/* Picoquic begins with datagrams of a size of its own, and is not to look for larger ones. For an experiment, undo
 * what it has made of pacing, or of what the peer asks of acknowledgements. */
static void tune(mdc_endpoint *endpoint)
{
    const int64_t for_ever = INT64_C(1) << 60; /* ns, of pacing's bucket */
    picoquic_cnx_t *connection = picoquic_get_first_cnx(endpoint->quic);

    for (; connection != NULL; connection = picoquic_get_next_cnx(connection)) {
        if (endpoint->experiment == FREQUENT_ACKS) {
            connection->ack_gap_remote = 2;
            connection->ack_delay_remote = PICOQUIC_ACK_DELAY_MAX;
        }
        for (int i = 0; i < connection->nb_paths; i++) {
            connection->path[i]->send_mtu = endpoint->datagram_bytes;
            if (endpoint->experiment == NO_PACING)
                connection->path[i]->pacing.bucket_nanosec = connection->path[i]->pacing.bucket_max = for_ever;
        }
    }
}

/* Leave all datagrams that are to be sent now, and when there will be more. */
int mdc_send(mdc_endpoint *endpoint, uint64_t now)
{
    mdc_state *state = &endpoint->state;

    endpoint->now = now;
    state->output_length = state->datagram_count = 0;
    tune(endpoint);
    if (endpoint->connection != NULL && endpoint->connection->is_multipath_enabled) {
        save_pending(endpoint->connection, now);
        hold_without_identifier(endpoint->connection, now);
        choose_ack_path(endpoint->connection);
    }
    for (;;) {
        struct sockaddr_storage to, from;
        size_t length = 0;
        int interface;
        picoquic_connection_id_t identifier;
        picoquic_cnx_t *last = NULL;

        if (make_room((void **)&endpoint->output, &endpoint->output_room,
                      state->output_length + MAX_DATAGRAM, 1) || /* it may write more than it was told */
            make_room((void **)&endpoint->datagrams, &endpoint->datagram_room, state->datagram_count + 1,
                      sizeof(mdc_datagram)))
            return -1;
        to.ss_family = from.ss_family = AF_UNSPEC;
        if (picoquic_prepare_next_packet_ex(endpoint->quic, now, endpoint->output + state->output_length,
                                            endpoint->datagram_bytes, &length, &to, &from, &interface, &identifier,
                                            &last, NULL))
            return -1;
        if (length == 0)
            break;
        mark_copies(endpoint);
        endpoint->datagrams[state->datagram_count++] = (mdc_datagram){
            state->output_length, length, number_of(endpoint, &from), number_of(endpoint, &to)};
        state->output_length += length;
    }
    state->output = endpoint->output;
    state->datagrams = endpoint->datagrams;
    forget_deleted(endpoint);
    state->wake = picoquic_get_next_wake_time(endpoint->quic, now);
    return worth_reading(endpoint);
}

/* Python has read events and input. */
void mdc_taken(mdc_endpoint *endpoint)
{
    mdc_state *state = &endpoint->state;

    state->event_count = state->notable_count = state->input_length = state->deleted_count = 0;
}

int mdc_close(mdc_endpoint *endpoint, uint64_t error, const char *reason, uint64_t now)
{
    endpoint->now = now;
    if (!is_live(endpoint))
        return -1;
    wake(endpoint, now);
    return picoquic_close_ex(endpoint->connection, error, reason);
}

int mdc_is_disconnected(mdc_endpoint *endpoint)
{
    return endpoint->connection == NULL ||
           picoquic_get_cnx_state(endpoint->connection) >= picoquic_state_disconnected;
}

int mdc_ecn(const char *congestion_control)
{
    picoquic_congestion_algorithm_t const *algorithm = congestion_algorithm(congestion_control);

    return algorithm == NULL ? -1 : algorithm->ecn_mark;
}

/* A generator of the project's, so that a run can be repeated: splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t random_state;

static void seeded_random(void *buffer, size_t length)
{
    uint8_t *bytes = buffer;

    for (size_t i = 0; i < length; i++) {
        uint64_t mixed = random_state += 0x9E3779B97F4A7C15ull;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
        bytes[i] = (uint8_t)((mixed ^ (mixed >> 31)) >> 56);
    }
}

/* All randomness of this process from now on comes from a seed. Its connections are then open to
 * anybody: for simulations. */
int mdc_seed(uint64_t seed)
{
    picoquic_tls_api_init();
    random_state = seed;
    picoquic_register_crypto_random_provider_fn(seeded_random);
    picoquic_public_random_seed_64(seed, 1);
    return 0;
}
