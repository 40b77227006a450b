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

struct orders {
	int family, multipath, subflows, port, client_port, first, clients, flights, changes;
	int64_t begin, sample, duration;
	int64_t count, interval, patience; /* of requests; a download is one */
	int is_download;
	char congestion_control[WORD];
	struct sockaddr_storage server, client[CLIENTS + 1]; /* by their cards */
	int64_t flight[FLIGHTS][2]; /* bytes of the handshake: the client's, the server's answer */
	struct shape request, answer;
	struct change *change;
};

/* orders.c */
void read_orders(struct orders *o);
socklen_t address_length(const struct orders *o);
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
void die(const char *what) __attribute__((noreturn));
void sleep_until(int64_t moment);
void put(const char *file, const char *value);
int wait_for(int file, int events, int64_t until);

/* client.c, server.c */
void run_client(const struct orders *o, int connected);
void run_server(const struct orders *o);
#endif
