/* The C interface of src/lib.rs, which says what it does. cffi reads this file too, so it has
 * declarations only. All times are ns of the caller's clock but where the name ends in _us. */

typedef struct { int32_t is_client, control; uint32_t max_paths, datagram_bytes;
  uint64_t initial_window, max_data, max_stream_data, idle_timeout_ms; int32_t send_fairness;
  const uint8_t *certificate; size_t certificate_length; const uint8_t *key; size_t key_length;
  uint64_t now; } configuration;
typedef struct { uint64_t offset, length; int32_t source, destination; } datagram;
typedef struct { int32_t kind, path; uint64_t value, offset, length; } event;
typedef struct { uint64_t id; int32_t local, remote, validated, backup, abandoned;
  uint64_t cwnd, ssthresh, rtt_ns, packets_sent, packets_lost, bytes_sent, bytes_received,
  bytes_lost, congestion_events, spurious_events, path_acks_sent; } path;
typedef struct { uint64_t wake; const uint8_t *output; uint64_t output_length;
  const datagram *datagrams; uint64_t datagram_count;
  const uint8_t *input; uint64_t input_length; const event *events; uint64_t event_count;
  const path *deleted; int32_t has_events, is_multipath; } state;
typedef struct end end;
void noq_seed(uint64_t value);
end *noq_create(const configuration *given, char *error, size_t room);
void noq_free(end *);
const state *noq_state(end *);
int32_t noq_address(end *, const char *ip, uint16_t port);
int32_t noq_connect(end *, int32_t local, int32_t remote, uint64_t now);
int32_t noq_receive(end *, const uint8_t *data, size_t length, int32_t source, int32_t destination,
  int32_t ecn, uint64_t now);
int32_t noq_send(end *, uint64_t now);
int32_t noq_receive_in_c(end *, const uint8_t *data, size_t length, int32_t source,
  int32_t destination, int32_t ecn, uint64_t now_us);
int32_t noq_send_in_c(end *, uint64_t now_us);
int32_t noq_drive(end *, uint64_t now);
int32_t noq_taken(end *);
int32_t noq_reason(end *, char *place, size_t room);
int64_t noq_open_stream(end *, int32_t unidirectional);
int32_t noq_write(end *, uint64_t stream, const uint8_t *data, size_t length, int32_t last);
int32_t noq_write_pattern(end *, uint64_t stream, const uint8_t *block, size_t length,
  uint64_t size);
int32_t noq_reset_stream(end *, uint64_t stream, uint64_t error);
int32_t noq_stop_sending(end *, uint64_t stream, uint64_t error);
int32_t noq_open_path(end *, int32_t local, int32_t remote, uint64_t now);
int32_t noq_abandon_path(end *, uint64_t path, uint64_t now);
int32_t noq_set_path_status(end *, uint64_t path, int32_t backup);
int32_t noq_paths(end *, path *room, size_t most);
int32_t noq_close(end *, uint64_t error, uint64_t now);
