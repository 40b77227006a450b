/* What the parts of the guest's first process share. */
#ifndef AGENT_H
#define AGENT_H
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "orders.h"

#define NS_PER_S 1000000000ll
#define NEVER INT64_MAX
#define OUTPUT_BYTES 1400 /* of a program, in one report */
#define DELIVERING_NS 10000000 /* as the real server looks whether the last bytes were acknowledged */
#define IPPROTO_MPTCP_ 262

/* orders.c */
struct orders *read_orders(const char *file);
char *contents(const char *file, size_t *bytes);
socklen_t address_length(const struct orders *o);
const struct sockaddr_storage *peer(const struct orders *o);
int64_t shape_bytes(const struct shape *s);
void shape_fill(const struct shape *s, int64_t from, uint8_t *to, size_t bytes);
int shape_take(const struct shape *s, int64_t *at, const uint8_t *data, size_t bytes, int64_t *ended);
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
extern volatile sig_atomic_t signalled; /* whether a signal of `heed` came to this process */
int64_t now(void);
void report_by(const char *name);
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_output(const char *role, int number, const char *piece, size_t bytes);
void die(const char *what) __attribute__((noreturn));
void sleep_until(int64_t moment);
void put(const char *file, const char *value);
void heed(int number);
int wait_for(struct pollfd *files, int count, int64_t ns, const sigset_t *blocked);
int64_t discard(int s, int64_t bytes);
void tell(int to);
void wait_for_byte(int from);

/* programs.c */
void prepare_root(void);
void wait_for_connection(const struct orders *o);
void run_client_program(const struct orders *o);
void run_programs(const struct orders *o, pid_t client, int to_client);

/* client.c, server.c, proxy.c */
void run_client(const struct orders *o, int connected);
void run_server(const struct orders *o);
void run_proxy(const struct orders *o);

/* server.c, for the others */
int tcp_socket(const struct orders *o, int multipath);
int listening(const struct orders *o, const struct sockaddr_storage *address, int multipath);
int accepted(int l);
int has_delivered(int s);
void sample(int s);
#endif
