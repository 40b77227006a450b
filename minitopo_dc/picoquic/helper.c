/* One endpoint with one connection of picoquic, driven from Python with few calls per datagram.
 *
 * Time is an argument (us), as everywhere in picoquic; there is no socket and no thread here.
 * Addresses are numbers that mdc_address gives, so that no call converts one. What happens is kept
 * as events and as the streams' bytes, one behind the other, until Python has read them
 * (mdc_taken): so a datagram costs one call, and Python is not called back.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <picotls.h>

#include "autoqlog.h"
#include "picoquic_internal.h"
#include "picoquic_crypto_provider_api.h"
#include "picoquic_utils.h"
#include "tls_api.h"

#include "helper.h"

#define MAX_ADDRESSES 600 /* a leg each way and to spare: topologies have at most 250 legs */
#define MAX_DATAGRAM 1600

/* A stream that is answered by a block again and again, cut at its length. */
typedef struct pattern {
    struct pattern *next;
    uint64_t stream;
    const uint8_t *block; /* Python keeps it */
    size_t block_length;
    uint64_t sent;
    uint64_t length;
} pattern;

struct mdc_endpoint {
    mdc_state state;
    picoquic_quic_t *quic;
    picoquic_cnx_t *connection;
    char *alpn;
    char *server_name;
    int is_client;
    int is_gone;
    size_t datagram_bytes;
    uint64_t now; /* picoquic reads it wherever it is not given the time */
    struct sockaddr_storage addresses[MAX_ADDRESSES];
    int address_count;
    uint8_t *output;
    size_t output_room;
    mdc_datagram *datagrams;
    size_t datagram_room;
    uint8_t *input;
    size_t input_room;
    mdc_event *events;
    size_t event_room;
    mdc_path *deleted;
    size_t deleted_room;
    pattern *patterns;
    int failed; /* out of memory in a callback */
};

/* The smallest number of bytes to begin with, doubled when it is not enough. */
static int make_room(void **what, size_t *room, size_t wanted, size_t size)
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

static void add_event(mdc_endpoint *endpoint, int kind, uint64_t value, size_t offset, size_t length)
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

static void add_input(mdc_endpoint *endpoint, uint64_t stream, const uint8_t *bytes, size_t length)
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
    add_event(endpoint, MDC_DATA, stream, offset, length);
}

static pattern *find_pattern(mdc_endpoint *endpoint, uint64_t stream)
{
    pattern *each = endpoint->patterns;

    while (each != NULL && each->stream != stream)
        each = each->next;
    return each;
}

static void drop_pattern(mdc_endpoint *endpoint, uint64_t stream)
{
    pattern **each = &endpoint->patterns;

    while (*each != NULL) {
        pattern *found = *each;
        if (found->stream == stream) {
            *each = found->next;
            free(found);
        } else {
            each = &found->next;
        }
    }
}

/* Picoquic asks for the next bytes of a stream. */
static void fill(mdc_endpoint *endpoint, uint64_t stream, void *context, size_t room)
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

static struct sockaddr *address_of(mdc_endpoint *endpoint, int number)
{
    return (struct sockaddr *)&endpoint->addresses[number];
}

static int number_of(mdc_endpoint *endpoint, const struct sockaddr_storage *address)
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
static void keep_deleted(mdc_endpoint *endpoint, uint64_t identifier)
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

static void be_gone(mdc_endpoint *endpoint, uint64_t by)
{
    if (!endpoint->is_gone)
        add_event(endpoint, MDC_CLOSED, by, 0, 0);
    endpoint->is_gone = 1;
}

static int on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
                    picoquic_call_back_event_t event, void *context, void *stream_context)
{
    mdc_endpoint *endpoint = context;
    (void)stream_context;

    if (endpoint->connection == NULL && !endpoint->is_gone)
        endpoint->connection = connection; /* a server's first */
    if (connection != endpoint->connection)
        return 0;
    switch (event) {
    case picoquic_callback_stream_data:
        add_input(endpoint, stream, bytes, length);
        break;
    case picoquic_callback_stream_fin:
        add_input(endpoint, stream, bytes, length);
        add_event(endpoint, MDC_FIN, stream, 0, 0);
        break;
    case picoquic_callback_stream_reset:
    case picoquic_callback_stop_sending:
        add_event(endpoint, MDC_RESET, stream, 0, 0);
        break;
    case picoquic_callback_prepare_to_send:
        fill(endpoint, stream, bytes, length);
        break;
    case picoquic_callback_ready:
        add_event(endpoint, MDC_READY, 0, 0, 0);
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

static int set_transport_parameters(picoquic_quic_t *quic, const mdc_configuration *wanted)
{
    picoquic_tp_t parameters = *picoquic_get_default_tp(quic);

    if (wanted->max_data)
        parameters.initial_max_data = wanted->max_data;
    if (wanted->max_stream_data) {
        parameters.initial_max_stream_data_bidi_local = wanted->max_stream_data;
        parameters.initial_max_stream_data_bidi_remote = wanted->max_stream_data;
        parameters.initial_max_stream_data_uni = wanted->max_stream_data;
    }
    parameters.max_idle_timeout = wanted->idle_timeout_ms;
    parameters.initial_max_path_id = wanted->multipath;
    return picoquic_set_default_tp(quic, &parameters);
}

static const char *configure(mdc_endpoint *endpoint, const mdc_configuration *wanted)
{
    picoquic_quic_t *quic = endpoint->quic;
    picoquic_congestion_algorithm_t const *algorithm;

    picoquic_register_all_congestion_control_algorithms();
    algorithm = picoquic_get_congestion_algorithm(wanted->congestion_control);
    if (algorithm == NULL)
        return "no such congestion control";
    if (wanted->congestion_control_option != NULL)
        picoquic_set_default_congestion_algorithm_ex(quic, algorithm, wanted->congestion_control_option);
    else
        picoquic_set_default_congestion_algorithm(quic, algorithm);
    picoquic_set_default_multipath_option(quic, wanted->multipath > 0);
    if (set_transport_parameters(quic, wanted))
        return "transport parameters were refused";
    picoquic_set_default_idle_timeout(quic, wanted->idle_timeout_ms);
    picoquic_set_default_pmtud_policy(quic, picoquic_pmtud_blocked);
    picoquic_set_mtu_max(quic, (uint32_t)wanted->datagram_bytes);
    picoquic_disable_port_blocking(quic, 1);
    picoquic_enable_path_callbacks_default(quic, 1);
    /* Holes in the numbers of packets against peers that acknowledge what they have not: random, and
     * nothing that one's own peer does. */
    picoquic_set_optimistic_ack_policy(quic, 0);
    if (wanted->qlog != NULL && picoquic_set_qlog(quic, wanted->qlog))
        return "qlog was refused";
    /* Late packets of a path that is gone must not end the connection. */
    quic->stateless_reset_next_time = UINT64_MAX;
    return NULL;
}

mdc_endpoint *mdc_create(const mdc_configuration *wanted, const char **error)
{
    mdc_endpoint *endpoint = calloc(1, sizeof(mdc_endpoint));
    const char *certificate = wanted->is_client ? NULL : wanted->certificate;
    const char *roots = wanted->is_client ? wanted->certificate : NULL;
    uint8_t reset_seed[PICOQUIC_RESET_SECRET_SIZE] = {0};

    *error = "no memory";
    if (endpoint == NULL)
        return NULL;
    endpoint->is_client = wanted->is_client;
    endpoint->now = wanted->now;
    endpoint->datagram_bytes = wanted->datagram_bytes;
    endpoint->alpn = strdup(wanted->alpn);
    endpoint->server_name = strdup(wanted->server_name);
    endpoint->quic = picoquic_create(8, certificate, wanted->is_client ? NULL : wanted->key, roots, wanted->alpn,
                                     on_event, endpoint, NULL, NULL, reset_seed, wanted->now, &endpoint->now, NULL, NULL, 0);
    if (endpoint->quic == NULL)
        *error = "picoquic refused the certificate or the key";
    else
        *error = configure(endpoint, wanted);
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

int mdc_connect(mdc_endpoint *endpoint, int local, int remote, uint64_t now)
{
    endpoint->now = now;
    endpoint->connection = picoquic_create_cnx(endpoint->quic, picoquic_null_connection_id,
                                               picoquic_null_connection_id, address_of(endpoint, remote), now, 0,
                                               endpoint->server_name, endpoint->alpn, 1);
    if (endpoint->connection == NULL)
        return -1;
    picoquic_set_callback(endpoint->connection, on_event, endpoint);
    picoquic_set_local_addr(endpoint->connection, address_of(endpoint, local));
    endpoint->state.wake = now;
    return picoquic_start_client_cnx(endpoint->connection);
}

int mdc_receive(mdc_endpoint *endpoint, const uint8_t *datagram, size_t length, int from, int to, uint64_t now)
{
    uint8_t copy[MAX_DATAGRAM]; /* picoquic decrypts in place */

    endpoint->now = now;
    if (length > sizeof(copy))
        return -1;
    memcpy(copy, datagram, length);
    picoquic_incoming_packet(endpoint->quic, copy, length, address_of(endpoint, from), address_of(endpoint, to), 0, 0,
                             now);
    endpoint->state.wake = now;
    return endpoint->failed ? -1 : 0;
}

/* Have what is in flight on a path that is about to be deleted sent again on others.
 *
 * Picoquic frees it with the path: stream data that was neither acknowledged nor declared lost by
 * then would be missing for ever, and the connection stall to its idle timeout. */
static void save_pending(picoquic_cnx_t *connection, uint64_t now)
{
    if (connection == NULL || !connection->is_multipath_enabled || !connection->path_demotion_needed)
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

/* Leave all datagrams that are to be sent now, and when there will be more. */
int mdc_send(mdc_endpoint *endpoint, uint64_t now)
{
    mdc_state *state = &endpoint->state;

    endpoint->now = now;
    state->output_length = state->datagram_count = 0;
    save_pending(endpoint->connection, now);
    for (;;) {
        struct sockaddr_storage to, from;
        size_t length = 0;
        int interface;
        picoquic_connection_id_t identifier;
        picoquic_cnx_t *last = NULL;

        if (make_room((void **)&endpoint->output, &endpoint->output_room,
                      state->output_length + endpoint->datagram_bytes, 1) ||
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
        endpoint->datagrams[state->datagram_count++] = (mdc_datagram){
            state->output_length, length, number_of(endpoint, &from), number_of(endpoint, &to)};
        state->output_length += length;
    }
    state->output = endpoint->output;
    state->datagrams = endpoint->datagrams;
    if (picoquic_get_first_cnx(endpoint->quic) == NULL) {
        be_gone(endpoint, MDC_LOCALLY);
        endpoint->connection = NULL;
        state->wake = UINT64_MAX;
    } else {
        state->wake = picoquic_get_next_wake_time(endpoint->quic, now);
    }
    return endpoint->failed ? -1 : 0;
}

/* Python has read events and input. */
void mdc_taken(mdc_endpoint *endpoint)
{
    mdc_state *state = &endpoint->state;

    state->event_count = state->notable_count = state->input_length = state->deleted_count = 0;
}

static void wake(mdc_endpoint *endpoint, uint64_t now)
{
    picoquic_set_app_wake_time(endpoint->connection, now);
    endpoint->state.wake = now;
}

uint64_t mdc_open_stream(mdc_endpoint *endpoint)
{
    return picoquic_get_next_local_stream_id(endpoint->connection, 0);
}

int mdc_write(mdc_endpoint *endpoint, uint64_t stream, const uint8_t *data, size_t length, int fin)
{
    if (endpoint->connection == NULL)
        return -1;
    return picoquic_add_to_stream(endpoint->connection, stream, data, length, fin);
}

/* `length` bytes and the end of a stream; the block must outlive the endpoint. */
int mdc_write_pattern(mdc_endpoint *endpoint, uint64_t stream, const uint8_t *block, size_t block_length,
                      uint64_t length)
{
    pattern *made = malloc(sizeof(pattern));

    if (made == NULL || endpoint->connection == NULL) {
        free(made);
        return -1;
    }
    *made = (pattern){endpoint->patterns, stream, block, block_length, 0, length};
    endpoint->patterns = made;
    return picoquic_mark_active_stream(endpoint->connection, stream, 1, NULL);
}

int mdc_open_path(mdc_endpoint *endpoint, int local, int remote, uint64_t now)
{
    int result;

    endpoint->now = now;
    if (endpoint->connection == NULL)
        return -1;
    result = picoquic_probe_new_path(endpoint->connection, address_of(endpoint, remote), address_of(endpoint, local),
                                     now);
    wake(endpoint, now);
    return result;
}

int mdc_abandon_path(mdc_endpoint *endpoint, uint64_t path, uint64_t reason, uint64_t now)
{
    int result;

    endpoint->now = now;
    if (endpoint->connection == NULL)
        return -1;
    result = picoquic_abandon_path(endpoint->connection, path, reason, now);
    wake(endpoint, now);
    return result;
}

int mdc_set_path_status(mdc_endpoint *endpoint, uint64_t path, int backup, uint64_t now)
{
    int result;

    endpoint->now = now;
    if (endpoint->connection == NULL)
        return -1;
    result = picoquic_set_path_status(endpoint->connection, path,
                                      backup ? picoquic_path_status_backup : picoquic_path_status_available);
    wake(endpoint, now);
    return result;
}

/* The paths that there are now, `room` at most; how many. */
int mdc_paths(mdc_endpoint *endpoint, mdc_path *found, int room)
{
    int count = endpoint->connection == NULL ? 0 : endpoint->connection->nb_paths;

    if (count > room)
        count = room;
    for (int i = 0; i < count; i++)
        found[i] = describe(endpoint, endpoint->connection->path[i]);
    return count;
}

int mdc_close(mdc_endpoint *endpoint, uint64_t error, const char *reason, uint64_t now)
{
    int result;

    endpoint->now = now;
    if (endpoint->connection == NULL)
        return -1;
    result = picoquic_close_ex(endpoint->connection, error, reason);
    wake(endpoint, now);
    return result;
}

int mdc_is_disconnected(mdc_endpoint *endpoint)
{
    return endpoint->connection == NULL ||
           picoquic_get_cnx_state(endpoint->connection) >= picoquic_state_disconnected;
}

uint32_t mdc_version(mdc_endpoint *endpoint)
{
    if (endpoint->connection == NULL)
        return 0;
    return picoquic_supported_versions[endpoint->connection->version_index].version;
}

int mdc_is_multipath(mdc_endpoint *endpoint)
{
    return endpoint->connection != NULL && endpoint->connection->is_multipath_enabled;
}

void mdc_errors(mdc_endpoint *endpoint, uint64_t *local, uint64_t *remote, uint64_t *application)
{
    *local = endpoint->connection == NULL ? 0 : picoquic_get_local_error(endpoint->connection);
    *remote = endpoint->connection == NULL ? 0 : picoquic_get_remote_error(endpoint->connection);
    *application = endpoint->connection == NULL ? 0 : picoquic_get_application_error(endpoint->connection);
}

const char *mdc_error_name(uint64_t error)
{
    return picoquic_error_name(error);
}
