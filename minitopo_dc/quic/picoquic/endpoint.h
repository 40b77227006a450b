/* What the parts of the helper share; Python sees `stack.h` and `helper.h` only. */
#ifndef MDC_ENDPOINT_H
#define MDC_ENDPOINT_H

#include <picotls.h>

#include "autoqlog.h"
#include "picoquic_internal.h"
#include "picoquic_crypto_provider_api.h"
#include "picoquic_utils.h"
#include "tls_api.h"

#include "stack.h"

#include "helper.h"

#define MAX_ADDRESSES 600 /* a leg each way and to spare: topologies have at most 250 legs */
#define MAX_DATAGRAM 1600
#define ENOUGH_INPUT 65536 /* bytes of streams worth reading without an event: fewer, larger pieces cost less */

/* A stream that is answered by a block again and again, cut at its length. */
typedef struct pattern {
    struct pattern *next;
    uint64_t stream;
    const uint8_t *block; /* Python keeps it */
    size_t block_length;
    uint64_t sent;
    uint64_t length;
} pattern;

/* Which packet of one path another one copies next, and from where in it on (schedulers.c). */
typedef struct {
    uint64_t from; /* unique identifiers: a leg may have another path by now */
    uint64_t to;
    uint64_t sequence_number;
    size_t frame; /* as `data_repeat_frame` and `data_repeat_index` of the packet; 0: its beginning */
    size_t index;
} copy_cursor;

/* What an experiment changes: which property makes two stacks differ (docs/noq.md). */
typedef enum {
    NO_EXPERIMENT,
    NO_HYSTART,   /* CUBIC's slow start ends at the first loss only */
    NO_PACING,
    FREQUENT_ACKS /* every second packet is acknowledged, as RFC 9000 recommends (section 13.2.2) */
} experiment_kind;

struct mdc_endpoint {
    mdc_state state;
    picoquic_quic_t *quic;
    picoquic_cnx_t *connection;
    char *alpn;
    char *server_name;
    int is_client;
    int is_tunnel; /* as configured */
    int is_decided; /* which of several attempts at a connection is kept */
    int is_gone;
    int demoted; /* as configured */
    experiment_kind experiment;
    mdc_scheduler scheduler;
    mdc_chooser choose;
    uint64_t chosen; /* the path of the packet that is made now, and how many it had sent before */
    uint64_t chosen_sequence;
    copy_cursor cursors[MDC_PATHS][MDC_PATHS]; /* by the legs of the paths from and to */
    picoquic_path_t *copying; /* the path of the packet that is made now, if it has copies */
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

/* streams.c, which all others may call; endpoint.c calls them, and none calls that. */
int make_room(void **what, size_t *room, size_t wanted, size_t size);
void add_event(mdc_endpoint *endpoint, int kind, uint64_t value, size_t offset, size_t length);
void add_input(mdc_endpoint *endpoint, int kind, uint64_t stream, const uint8_t *bytes, size_t length);
int is_live(const mdc_endpoint *endpoint);
void wake(mdc_endpoint *endpoint, uint64_t now);
void fill(mdc_endpoint *endpoint, uint64_t stream, void *context, size_t room);
void drop_pattern(mdc_endpoint *endpoint, uint64_t stream);

/* paths.c */
struct sockaddr *address_of(mdc_endpoint *endpoint, int number);
int number_of(mdc_endpoint *endpoint, const struct sockaddr_storage *address);
void keep_deleted(mdc_endpoint *endpoint, uint64_t identifier);
/* These three of a connection with multipath. */
void hold_without_identifier(picoquic_cnx_t *connection, uint64_t now);
void save_pending(picoquic_cnx_t *connection, uint64_t now);
void choose_ack_path(picoquic_cnx_t *connection);
int is_refused(const picoquic_cnx_t *connection, const struct sockaddr *remote, const struct sockaddr *local);
void count_timeout(picoquic_cnx_t *connection, uint64_t sent);

/* schedulers.c */
int place_of(mdc_endpoint *endpoint, const picoquic_path_t *path);
int has_copies(mdc_endpoint *endpoint, const picoquic_path_t *to);
void mark_copies(mdc_endpoint *endpoint);

/* cubic.c */
extern picoquic_congestion_algorithm_t const cubic_rfc9438;

/* coupled.c */
picoquic_congestion_algorithm_t const *congestion_algorithm(const char *name);

#endif
