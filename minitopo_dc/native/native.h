/* What Python sees of the core; cffi reads this file too, so it has declarations only.
 *
 * Times are ns, NEVER (INT64_MAX) is none. Packets are pointers that are handed on. */

enum { MAX_LEGS = 16, WAITING_BUCKETS = 24 };

/* A packet as legs and PDCP know it: a pointer that they hand on. Who made it says how it is shared. */
typedef struct {
    void (*keep)(void *packet);    /* one more has it */
    void (*release)(void *packet); /* one less has it */
    int (*ecn)(const void *packet); /* its code point, by `link/link.h` */
    /* Set Congestion Experienced; the packet that has it then: another one where several have it. */
    void *(*mark)(void *packet);
} packet_hooks;

/* Legs and transmitting entities begin with the hooks of their packets, which who drives them sets. */

typedef struct leg leg;
typedef struct capacity capacity;

typedef struct {
    int64_t pushed_packets, pushed_bytes, delivered_packets, delivered_bytes;
    int64_t dropped_queue, dropped_loss, dropped_stop, dropped_flush;
    int64_t queue_packets, queue_bytes, queue_max_packets, air_packets;
    /* With a queue discipline. */
    int64_t dropped_early, marked_packets, ect0_packets, ect1_packets, ce_packets;
    int64_t dropped_mtu; /* with an MTU */
    int64_t joined_packets; /* of the queue */
    /* With RLC. */
    int64_t dropped_discard, dropped_radio, blocks, harq_retransmissions, harq_failures, rlc_retransmissions;
} leg_counters;

/* What Python has under the same names (`struct_of` of library.py): None is NEVER, or a struct of zeros. */

/* TddPattern: `slots` is their number, 0: every slot, and one round trip of HARQ. */
typedef struct {
    int64_t slots, request_slot, before[161], skips[160], rounds[160];
} tdd_pattern;

/* Drx: `cycle_ns` 0: the terminal listens always. */
typedef struct {
    int64_t on_ns, inactivity_ns, cycle_ns, short_ns, short_cycles;
} drx_cycles;

/* RlcParameters. */
typedef struct {
    int acknowledged, in_order;
    int64_t slot_ns, slot_lead_ns, harq_rtt_ns, harq_retransmissions, status_ns, status_prohibit_ns;
    int64_t max_retx_threshold, discard_ns, phase_ns, sr_ns, header_bytes;
    tdd_pattern tdd;
    drx_cycles drx;
} rlc_parameters;

/* QueueLimit, and LegParameters but for its models. */
typedef struct {
    int64_t packets, bytes;
} queue_limit;

typedef struct {
    queue_limit queue;
    int64_t mtu_bytes, grant_ns;
    int reorder;
} leg_parameters;

/* What a direction shows the other one, as `_shown` of RlcLeg. */
typedef struct {
    int64_t active, busy, slot, bits, slot_before, bits_before;
} leg_shown;

/* `edges` has one time more than there are rates: the trace's end. */
capacity *capacity_rates(const int64_t *edges, const int64_t *rates_bps, size_t count, int after);
capacity *capacity_opportunities(const int64_t *moments, size_t count, int64_t duration, int64_t bits, int after);

leg *leg_new(const leg_parameters *is, const uint32_t *delay_random, const uint32_t *loss_random);
/* Drivers own what they drive: these, like `free`, take anything. */
void leg_free(void *made);
/* For a leg that is new; its blocks' errors are set besides. */
void leg_set_rlc(leg *self, const rlc_parameters *is, const uint32_t *block_random);
/* Let the other direction carry status reports, and keep the terminal awake; legs without RLC are left as they are. */
void leg_pair(leg *self, leg *other);
/* Keep what the other direction sees in memory that its process has, too. */
void leg_share(leg *self, leg_shown *memory);
void leg_set_block_error(leg *self, double error, int64_t mean_wait, int64_t now);
/* For a leg that is new. */
void leg_set_discipline(leg *self, int kind, const double *numbers, int count, const uint32_t *random);
void leg_start(leg *self, int64_t now);
void leg_set_up(leg *self, int up, int64_t now);
void leg_set_capacity(leg *self, capacity *made, int64_t now);
void leg_set_delay(leg *self, int kind, int64_t a, int64_t b, int64_t now);
void leg_set_loss(leg *self, int kind, double p, double r, double h, double k, int64_t now);
int64_t leg_mean_delay(const leg *self);
int64_t leg_backlog_bytes(leg *self, int64_t now);
int leg_has_room(leg *self, int64_t now, int64_t size);
int64_t leg_served_packets(leg *self, int64_t now);
int64_t leg_service_end(leg *self, int64_t now);
int64_t leg_rate_bps(leg *self, int64_t now);
int64_t leg_drain_ns(leg *self, int64_t now, int64_t more);
int64_t leg_next_timeout(const leg *self);
void leg_count(const leg *self, leg_counters *found);

typedef struct {
    void *packet;
    int64_t count; /* of its PDU, in virtual time; -1: no bearer took it */
} carried;

/* What became of a packet that was pushed. */
enum { LEG_REFUSED, LEG_LOST, LEG_TAKEN };

/* LEG_REFUSED: the leg does not have it, and it may be another one, with a mark. LEG_LOST: it has, and will release
 * it. So it does with what is LEG_TAKEN and will not come. */
int leg_push(leg *self, carried *what, int size, int64_t now);
/* The next one that has arrived by `now`; 0: there is none. */
int leg_poll(leg *self, int64_t now, carried *what);

/* The receiving PDCP entity. */

enum { DELIVERY_IN_ORDER, DELIVERY_OUT_OF_ORDER, DELIVERY_OFF };
enum { ADAPTIVE_T_REORDERING = -1 };

typedef struct receive receive;

typedef struct {
    int64_t pdus[16], duplicates, old, missing, missing_by_order, t_reordering_expiries, desynchronised;
    int64_t buffered, buffered_maximum, waited[16], waited_ns[16], waiting_maximum, histogram[24];
    int64_t t_reordering, rx_deliv, rx_next, rx_reord;
    int64_t delivered_bytes; /* by its driver */
} receive_counters;

receive *receive_new(int sn_bits, int64_t t_reordering, int legs, int delivery, int keeps_order);
void receive_free(void *made);
int64_t receive_next_timeout(const receive *self);
void receive_count(const receive *self, receive_counters *found);
int receive_status(const receive *self, uint8_t *bitmap, int room);
/* 0: discarded. `sn` may be any number that ends in it; `count` is that of its sender, -1: nobody knows it. */
int receive_push(receive *self, int64_t sn, int64_t count, void *sdu, int leg, int64_t now);
/* The next SDU that goes up by `now`; 0: there is none. */
int receive_poll(receive *self, int64_t now, void **sdu);

/* What its reports count by one leg; ReportMaker of pdcp/report.py writes them and says when. */

typedef struct {
    int64_t next_count, pdus, bytes, reordered, reordering_ns;
} reception;

/* A PDU with an SDU of `size` bytes arrived on `leg`: for its reports. */
void receive_note(receive *self, int64_t sn, int size, int leg);
void receive_receptions(const receive *self, reception *found);

/* The transmitting PDCP entity and its split policy. */

typedef struct transmit transmit;
typedef struct policy policy;

/* The receiver's latest report on one leg; number 0: there is none. */
typedef struct {
    int64_t number, at, highest_count, delivered_pdus, delivered_bytes, lost_pdus, reordered, reordering_ns;
} leg_report;

/* One leg as a policy in Python sees it, beside what the leg itself shows. */
typedef struct {
    transmit *of;
    int is_up;
    int64_t pending_bytes, sent_pdus, sent_bytes;
    leg_report report;
} leg_view;

typedef struct {
    int64_t sdus, pdus[16], bytes[16], dropped_split, marked_sdus;
    int64_t offered, waiting, waiting_maximum, dropped_buffer, discarded, dropped_xn, xn_packets;
} transmit_counters;

enum { POLICY_BATCH, POLICY_DUPLICATE, POLICY_LEAST_DELAY, POLICY_PROPORTIONAL, POLICY_ASKED };

/* A policy in Python: `ask` fills in legs, at most all, and returns how many they are, below 0: it failed, and
 * the entity does no more. Before that `shown` is filled in, one for each leg; NULL: it does not see them. */
typedef struct {
    int (*ask)(void *policy, int64_t now, int size, int *answer);
    void *policy;
    leg_view *shown;
} asked;

/* `numbers` of a batch are the legs' shares, of proportional its time constant (ns) and floor; `python` is of
 * POLICY_ASKED. */
policy *policy_new(int kind, int legs, const double *numbers, asked python);

/* What is known of a leg: it may be behind a backhaul. */
int view_takes(transmit *of, int leg, int64_t now, int size);
int view_has_room(transmit *of, int leg, int64_t now, int size);
int64_t view_backlog(transmit *of, int leg, int64_t now);
int64_t view_drain(const transmit *of, int leg, int64_t now, int64_t more);
int64_t view_mean_delay(const transmit *of, int leg);
int64_t view_credit(const transmit *of, int leg);

/* FlowControl of pdcp/transmitting/flow_control.py. */
typedef struct {
    int64_t interval, delay, mean_delay_ns, round_trip_ns, desired_ns, status_bytes, jitter, rate_bps;
    int64_t fill_packets, fill_bytes, fill;
    double loss;
} flow_control;

/* SduBuffer of pdcp/transmitting/buffers.py. */
typedef struct {
    queue_limit limit;
    int64_t discard_timer;
} sdu_buffer;

typedef struct {
    void *sdu;
    int64_t count;
    int leg, size;
    int64_t arrived; /* from upper layers */
} pdu;

/* The entity frees the policy. `waiting`: where SDUs wait for a leg, with a number if `early`; NULL: they do not.
 * `lead` as BearerLeg has it, NEVER: none. SDUs are marked that are expected to wait for longer than `mark_above`. */
transmit *transmit_new(int sn_bits, int header, int legs, leg **states, policy *split, int reports,
                       const sdu_buffer *waiting, int early, int64_t lead, int64_t mark_above);
/* Put a leg behind a backhaul, whose random numbers begin with the state `random`. */
void transmit_behind(transmit *self, int leg, const flow_control *control, const uint32_t *random);
void transmit_free(void *made);
int64_t transmit_next_timeout(const transmit *self);
void transmit_count(const transmit *self, transmit_counters *found);
/* 0: dropped, and released. */
int transmit_push(transmit *self, void *sdu, int size, int64_t now);
/* Find what the legs are to get now; where it follows its legs, again until it gives nothing. */
void transmit_settle(transmit *self, int64_t now);
/* The next PDU, which has a share of its SDU; 0: there is none. */
int transmit_poll(transmit *self, pdu *what);
/* The highest COUNT plus 1 that any leg was given. */
int64_t transmit_next_count(const transmit *self);
/* A report came: 0 if it is made use of, 1: stale, 2: of COUNTs that were not sent. */
int transmit_report(transmit *self, int64_t number, const reception *legs, int64_t now);

/* The drivers of a router host's legs and bearers on either clock; who makes one gives away what it drives. A network
 * and an element begin with their `router`, which begins with its time, and each driver with its `uncarried`. */

typedef struct router router;
typedef struct leg_driver leg_driver;
typedef struct transmit_driver transmit_driver;
typedef struct receive_driver receive_driver;

/* Real packets that a leg or bearer did not get, and those of a host's own that the kernel did not send on a leg. */
typedef struct {
    int64_t malformed, refused_options, handed_back, refused;
} uncarried;

leg_driver *router_leg(router *self, leg *of, int number);
transmit_driver *router_transmit(router *self, transmit *entity, leg_driver **legs, int count);
/* `keys` tell the bearer's legs apart where its PDUs arrive: numbers of legs, or indices of interfaces. */
receive_driver *router_receive(router *self, receive *entity, const int *keys, int count);
/* The leg was changed from outside: find its next moment anew. */
void leg_driver_rearm(leg_driver *self);
/* Legs went down or up, or got another rate, or the receiver reported. */
void transmit_driver_changed(transmit_driver *self, int64_t now);

/* The virtual clock: a network of flows, legs, bearers and hosts, and its events. */

typedef struct network network;
typedef struct timer timer;
typedef struct flow flow;
typedef struct host host;

/* Why a host steps in Python: something is due, has happened, or is wrong. */
enum { STEP_DUE, STEP_EVENTS, STEP_SEND_FAILED, STEP_NO_WAY };

network *network_new(int64_t now, void *handle);
void network_free(network *self);

/* Fire what is due until it is stopped, until `end`, or until nothing is left to do. */
void network_run(network *self, int64_t end);
/* End after the current event; or at once, as something in Python has failed. */
void network_stop(network *self, int failed);
/* A timer that fires in Python: it begins with its moment. */
timer *network_timer(network *self, void *handle);
void timer_set(timer *self, int64_t moment);

/* What a flow's packets take: a bearer (NULL: none) or else a leg; behind a leg the other end of the
 * bearer. `delay` is that before either end of the bearer, `before` and `after` those of the wires to and from the
 * end hosts; `ecn` the code point of what C sends. */
flow *network_flow(network *self, int headers, int ecn, transmit_driver *bearer, leg_driver *plain,
                   receive_driver *other, int64_t delay, int64_t before, int64_t after);
/* A datagram of C's own. */
void flow_send(flow *self, const uint8_t *data, int length);
/* A packet that Python has, by its token. */
void flow_enter(flow *self, int64_t token, int size, int ecn);

/* What a host begins with: when it is to step in Python next whatever arrives, and whether its connection is over. */
typedef struct {
    int64_t received_bytes, due;
    int ended;
} host_shown;

/* A host between its flows and an endpoint of picoquic. */
host *network_host(network *self, void *handle);
void host_endpoint(host *self, void *endpoint, void *state, void *receive, void *send);
/* The host sends on `of` what leaves from `source` (-1: any) to `destination`, by its endpoint's numbers. */
void host_sends(host *self, flow *of, int source, int destination);
/* It gets what comes by `of`, which has these numbers at its endpoint. */
void host_gets(host *self, flow *of, int source, int destination);
void host_wake(host *self, int64_t moment);

/* The element on real packets. What it is given it frees; times are of the monotonic clock. */

enum { MAX_STALLS = 1000 };

typedef struct element element;
typedef struct capture capture; /* of a leg, in a file */

/* How late what was due was served: entry i of `lateness` counts delays of i bits in ns. */
typedef struct {
    int64_t lateness[64], stalls, stalled_at[1000], stalled_for[1000];
    int failed; /* the descriptor that the error is of that ended it; -1: of none that Python knows */
} loop_counters;

/* `netlink`: the socket that all queues are bound to. */
element *element_new(int netlink);
void element_free(element *self);
/* The queue, from 0 to 511 as all, of packets that leave on a leg without a bearer, of a bearer's SDUs or PDUs, and
 * the driver that takes them. */
enum { QUEUE_LEG, QUEUE_SDUS, QUEUE_PDUS };
void element_queue(element *self, int queue, int of, void *driver);
/* Sockets for what is sent on the leg besides, -1: there is none; the capture of what leaves on it, or NULL. */
void element_leg_out(leg_driver *self, int ipv4, int ipv6, capture *to);
/* Put a datagram of the element's own on the leg. */
void element_leg_send(leg_driver *self, const uint8_t *ip, int length, int64_t now);
/* Have `element_run` come back when a descriptor can be read. */
void element_watch(element *self, int descriptor);
/* The same at a moment, until it is set anew. */
void element_python_due(element *self, int64_t moment);
/* Let every part do what is due. */
void element_serve(element *self, int64_t now);
/* Take what the queues have, a batch at most; its number. */
int element_read(element *self, int64_t now);
/* Send the verdicts. */
void element_flush(element *self);
/* Work until Python is to: how many descriptors are ready, 0: something is due there or a signal came, below 0:
 * the error (errno) that ends it. */
int element_run(element *self, int *ready, int room);
const loop_counters *element_loop_counters(const element *self);

/* Captures. `offset`, in ns, is from the element's clock to the time since 1970. */
capture *element_capture(element *self, int descriptor, int64_t offset);
/* Write what is left, for the file is closed now: 0, or the error (errno) that it has or had. */
int element_capture_end(capture *self);
/* What stands before a bearer's PDUs in captures of its leg at a position: 64 bytes at most. */
void element_transmit_capture(transmit_driver *self, int position, const uint8_t *start, int length);
/* The same, and capture what arrives there. */
void element_receive_capture(receive_driver *self, int position, capture *to, const uint8_t *start, int length);

/* IP datagrams, in place: the new length, -1: it is none, or one that cannot be. */
int ip_append_room(uint8_t *ip, int length, int size);
int ip_split_trailer(uint8_t *ip, int length, int size);
int ip_size_on_leg(const uint8_t *ip, int length);
int ip_may_be_forwarded(const uint8_t *ip);
int ip_ecn(const uint8_t *ip);
/* Set Congestion Experienced. */
void ip_mark(uint8_t *ip);

enum { SDU_TAKEN, SDU_MALFORMED, SDU_REFUSED_OPTIONS, SDU_HANDED_BACK };

/* Make an SDU ready for a header of `size` bytes, for which there has to be room. */
int ip_prepare_sdu(uint8_t *ip, int *length, int size);
int sn_bytes(int sn_bits);
void sn_put(uint8_t *at, int sn_bits, int64_t sn);
/* -1: no data PDU's. */
int64_t sn_get(const uint8_t *at, int sn_bits);
