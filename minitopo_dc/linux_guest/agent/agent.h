/* What the parts of the guest's first process share. */
#ifndef AGENT_H
#define AGENT_H
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NS_PER_S 1000000000ll
#define NEVER INT64_MAX
#define CLIENTS 250 /* cards of the client: as many legs as there can be */
#define FLIGHTS 8
#define WORD 64
#define SETTINGS 64
#define OUTPUT_BYTES 1400 /* of a program, in one report */
#define DELIVERING_NS 10000000 /* as the real server looks whether the last bytes were acknowledged */

enum action { ADD_ENDPOINT, DELETE_ENDPOINT, DELETE_INITIAL, SET_BACKUP, SET_AVAILABLE };

/* A change of the client's MPTCP endpoints; its identifier is the number of the card. */
struct change {
	int64_t at; /* before the connection begins: 0 */
	enum action action;
	int card;
};

/* Bodies of content between what HTTP/2 and TLS add (orders.c). */
struct shape {
	int64_t head;  /* bytes before a body */
	int64_t body;  /* bytes of content */
	int64_t block; /* content between two frames */
	int64_t frame; /* bytes of a frame's headers, and of its TLS records */
};

/* A kernel setting of both hosts. */
struct setting {
	char file[160], value[160];
};

struct orders {
	int family, multipath, subflows, port, client_port, first, clients, flights, changes, settings;
	int earlier; /* downloads before the one that is measured, each over a connection of its own */
	int mss; /* the server sends no larger segments; 0: as the link allows */
	int64_t begin, sample, duration;
	int64_t count, interval; /* of requests; a download is one */
	int64_t patience; /* after the last request; with programs: with the server, once told to end */
	int is_download;
	int programs, ready_port; /* whether both ends are programs, and what tells that the server is ready */
	int stop_signal; /* which tells a program to end */
	struct setting setting[SETTINGS];
	char congestion_control[WORD];
	struct sockaddr_storage server, client[CLIENTS + 1]; /* by their cards */
	int proxied; /* whether the client's connection ends at a proxy, whose card is behind the client's */
	struct sockaddr_storage proxy;
	int attempts, attempt[CLIENTS]; /* cards to connect from while nothing has answered, behind the first */
	int64_t attempt_delay;
	int64_t flight[FLIGHTS][2]; /* bytes of the handshake: the client's, the server's answer */
	struct shape request, answer;
	struct change *change;
};

/* orders.c */
void read_orders(struct orders *o, const char *file);
socklen_t address_length(const struct orders *o);
const struct sockaddr_storage *peer(const struct orders *o);
int64_t shape_bytes(const struct shape *s);
void shape_fill(const struct shape *s, int64_t from, uint8_t *to, size_t bytes);
int shape_matches(const struct shape *s, int64_t from, const uint8_t *data, size_t bytes);
int64_t shape_content(const struct shape *s, int64_t bytes);

/* netlink.c: each ends the process on an error, but for `endpoint`. */
void link_to(const char *name, pid_t network_of);
void link_up(const char *name);
void add_address(const char *name, const struct sockaddr_storage *address);
void add_neighbour(const char *name, const struct sockaddr_storage *address);
void add_route(const char *name, const struct sockaddr_storage *to, const struct sockaddr_storage *source, int table);
void add_rule(const struct sockaddr_storage *source, int table);
void set_subflow_limit(int subflows);
int endpoint(enum action action, int id, const struct sockaddr_storage *address, const char *name);

/* report.c */
int64_t now(void);
void report_by(const char *name);
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_output(const char *role, int number, const char *piece, size_t bytes);
void die(const char *what) __attribute__((noreturn));
void sleep_until(int64_t moment);
void put(const char *file, const char *value);
int wait_for(int file, int events, int64_t until);

/* programs.c */
void prepare_root(void);
void wait_for_connection(const struct orders *o);
void run_client_program(const struct orders *o);
void run_programs(const struct orders *o, pid_t client, int to_client);

/* client.c, server.c, proxy.c */
void run_client(const struct orders *o, int connected);
void run_server(const struct orders *o);
void run_proxy(const struct orders *o);

/* server.c, for the proxy */
int listening(const struct orders *o, const struct sockaddr_storage *address, int multipath);
int accepted(int l);
int has_delivered(int s);
void no_delay(int s);
void sample(int s);
#endif
