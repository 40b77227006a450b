/* One end of a QUIC connection of a stack without input or output, clock or thread. Each stack has these
 * functions in an extension of its own (`Stack` of connection.py); the native core calls them, too. A call of
 * type int that fails returns a number other than 0. Times are us of the caller's clock.
 *
 * cffi reads this file, so it has declarations only, and none that the preprocessor makes. */

typedef struct mdc_endpoint mdc_endpoint;

/* Kinds of events. */
enum {
    MDC_READY,          /* the handshake is complete: data can be sent (RFC 9001, section 4.1.1) */
    MDC_CONFIRMED,      /* the handshake is confirmed (RFC 9001, section 4.1.2) */
    MDC_DATA,           /* of a stream: `length` bytes at `offset` of the endpoint's input */
    MDC_FIN,            /* a stream's end */
    MDC_RESET,          /* a stream was reset, or its sender was told to stop */
    MDC_CLOSED,         /* the connection is no more; `value` is a reason of enum below */
    MDC_PATH_AVAILABLE, /* path `value` was validated, or is used again */
    MDC_PATH_SUSPENDED, /* path `value` lost its packets for some time and is not used */
    MDC_PATH_DELETED,   /* path `value` is no more; `offset` is its place in `deleted` */
    MDC_DATAGRAM_FRAME  /* `length` bytes at `offset` of the input, of no stream (RFC 9221) */
};

/* What becomes of a path that is given up (paths.c); none: what picoquic of today does. */
enum { MDC_DEMOTED_LINGER = 1, MDC_DEMOTED_REFUSE = 2, MDC_DEMOTED_FALL_BACK = 4 };

/* Which path the next packet takes (schedulers.c). */
enum {
    MDC_OWN, /* the stack's */
    MDC_SHORTEST_RTT,
    MDC_IN_TURN,
    MDC_EARLIEST_COMPLETION_FIRST,
    MDC_BLOCKING_ESTIMATION,
    MDC_REDUNDANT,
    MDC_PLUGIN /* the user's own, in Python */
};
enum { MDC_PATHS = 8 }; /* of a connection at once: PICOQUIC_NB_PATH_TARGET */

typedef struct {
    int kind;
    int weights[MDC_PATHS]; /* packets of a round, by leg */
    int sent[MDC_PATHS];    /* of this round */
    int turn;
    int is_waiting;
} mdc_scheduler;

/* Who closed a connection. */
enum { MDC_BY_PEER, MDC_BY_PEER_APPLICATION, MDC_STATELESS_RESET, MDC_LOCALLY };

typedef struct {
    int kind;
    uint64_t value;
    size_t offset;
    size_t length;
} mdc_event;

typedef struct {
    uint64_t id;
    int local;  /* numbers of addresses */
    int remote;
    int verified;
    int backup;
    int demoted;
    uint64_t cwnd;
    uint64_t in_flight;
    uint64_t smoothed_rtt_us;
    uint64_t minimum_rtt_us;
    uint64_t packets_sent;
    uint64_t packets_lost;
    uint64_t spurious_losses;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t bytes_acknowledged;
    uint64_t bytes_lost;
} mdc_path;

typedef struct {
    int is_client;
    const char *certificate;   /* the server's, PEM: of a client the one that it trusts */
    const char *key;           /* of a server, PEM */
    const char *alpn;
    const char *server_name;
    const char *congestion_control;
    const char *qlog;          /* a directory, or NULL */
    const char *experiment;    /* one property that is another one, by name, or NULL: none */
    uint64_t multipath;        /* 0, or the highest path identifier that the peer may use */
    uint64_t max_data;
    uint64_t max_stream_data;
    uint64_t idle_timeout_ms;
    size_t datagram_bytes;     /* of UDP payload, at most */
    uint32_t datagram_frame;   /* bytes of DATAGRAM frames (RFC 9221) that a client takes; 0: none */
    int is_tunnel;             /* whether what it sends is DATAGRAM frames (paths.c) */
    int takes_turns;           /* whether streams take turns; else the first one is sent first */
    int demoted;               /* a sum of the enum above */
    mdc_scheduler scheduler;
    uint64_t now;
} mdc_configuration;

typedef struct {
    size_t offset;
    size_t length;
    int source;
    int destination;
} mdc_datagram;

/* What calls of mdc_send and mdc_receive left for Python to read. */
typedef struct {
    uint64_t wake;             /* when to call mdc_send again, us */
    const uint8_t *output;     /* datagrams to send, one behind the other */
    size_t output_length;
    const mdc_datagram *datagrams;
    size_t datagram_count;
    const uint8_t *input;      /* data of streams, one piece behind the other */
    size_t input_length;
    const mdc_event *events;
    size_t event_count;
    size_t notable_count;      /* events that are not MDC_DATA, and the first data of streams */
    const mdc_path *deleted;   /* paths as they were at their end */
    size_t deleted_count;
    uint32_t version;          /* of a connection that is ready */
    int is_multipath;
    const char *congestion_control;
    uint64_t error;            /* of one that has ended; 0: none */
    const char *reason;        /* in words; NULL: none */
} mdc_state;

int mdc_seed(uint64_t seed);
mdc_endpoint *mdc_create(const mdc_configuration *configuration, const char **error);
void mdc_free(mdc_endpoint *endpoint);
mdc_state *mdc_get_state(mdc_endpoint *endpoint);
int mdc_address(mdc_endpoint *endpoint, const char *ip, int port);
/* A client may begin several attempts; it keeps the first whose handshake is complete, and closes the others. */
int mdc_connect(mdc_endpoint *endpoint, int local, int remote, uint64_t now);
/* Both: 1 if events and input are worth reading now, 0 if not, -1 on failure. */
int mdc_receive(mdc_endpoint *endpoint, const uint8_t *datagram, size_t length, int from, int to, int ecn, uint64_t now);
int mdc_send(mdc_endpoint *endpoint, uint64_t now);
void mdc_taken(mdc_endpoint *endpoint);
uint64_t mdc_open_stream(mdc_endpoint *endpoint, int is_unidirectional);
int mdc_write(mdc_endpoint *endpoint, uint64_t stream, const uint8_t *data, size_t length, int fin);
int mdc_write_pattern(mdc_endpoint *endpoint, uint64_t stream, const uint8_t *block, size_t block_length, uint64_t length);
int mdc_stop_sending(mdc_endpoint *endpoint, uint64_t stream, uint64_t error);
int mdc_reset_stream(mdc_endpoint *endpoint, uint64_t stream, uint64_t error);
int mdc_send_datagram(mdc_endpoint *endpoint, const uint8_t *data, size_t length);
int mdc_waiting_datagrams(mdc_endpoint *endpoint, uint64_t *bytes);
int mdc_open_path(mdc_endpoint *endpoint, int local, int remote, uint64_t now);
int mdc_abandon_path(mdc_endpoint *endpoint, uint64_t path, uint64_t reason, uint64_t now);
int mdc_set_path_status(mdc_endpoint *endpoint, uint64_t path, int backup, uint64_t now);
int mdc_paths(mdc_endpoint *endpoint, mdc_path *paths, int room);
int mdc_close(mdc_endpoint *endpoint, uint64_t error, const char *reason, uint64_t now);
int mdc_is_disconnected(mdc_endpoint *endpoint);
/* The code point with which a congestion control sends; -1: there is none of this name. */
int mdc_ecn(const char *congestion_control);
