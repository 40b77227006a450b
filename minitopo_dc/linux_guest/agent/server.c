/* The server: answers requests, and reports what the kernel says of the connection meanwhile. */
#include "agent.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOL_MPTCP_ 284
enum { INFO = 1, TCPINFO, SUBFLOW_ADDRESSES }; /* linux/mptcp.h */
#define INFO_FLAGS_OFFSET 8
#define HAS_FALLEN_BACK 1
#define TCP_INFO_BYTES 216 /* to tcpi_bytes_retrans, as kernel_socket.py reads it */
#define MAX_SUBFLOWS 16
#define BUFFER_BYTES (64 * 1024)

struct subflow_data {
	uint32_t size, count, kernel_bytes, user_bytes;
};

struct server {
	const struct orders *o;
	int s;
	int64_t in, out, open, answered; /* bytes of the request and the answer on the way; requests */
};

static uint8_t buffer[BUFFER_BYTES];

static int is_multipath(int s)
{
	int protocol = 0;
	socklen_t bytes = sizeof protocol;
	uint32_t info[3] = { 0 };
	socklen_t info_bytes = sizeof info;

	if (getsockopt(s, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) || protocol != IPPROTO_MPTCP_)
		return 0;
	if (getsockopt(s, SOL_MPTCP_, INFO, info, &info_bytes))
		return -1;
	return !(info[INFO_FLAGS_OFFSET / sizeof *info] & HAS_FALLEN_BACK);
}

static const char *hex(char *to, const void *what, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		snprintf(to + 2 * i, 3, "%02x", ((const uint8_t *)what)[i]);
	return to;
}

/* Report a subflow as the kernel describes it: its addresses, here and there, and its state. */
static void report_subflow(const struct sockaddr_storage pair[2], const uint8_t *info)
{
	char addresses[4 * sizeof *pair + 1], state[2 * TCP_INFO_BYTES + 1];

	report("subflow %s %s", hex(addresses, pair, 2 * sizeof *pair), hex(state, info, TCP_INFO_BYTES));
}

static int structures(int s, int option, void *to, size_t each)
{
	struct subflow_data *data = to;
	socklen_t bytes = sizeof *data + MAX_SUBFLOWS * each;

	*data = (struct subflow_data){ sizeof *data, 0, 0, each };
	return getsockopt(s, SOL_MPTCP_, option, to, &bytes) ? -1 : (int)data->count;
}

static int report_subflows(int s)
{
	static struct {
		struct subflow_data data;
		uint8_t info[MAX_SUBFLOWS][TCP_INFO_BYTES];
	} infos;
	static struct {
		struct subflow_data data;
		struct sockaddr_storage address[MAX_SUBFLOWS][2];
	} pairs;
	int count = structures(s, TCPINFO, &infos, TCP_INFO_BYTES);

	if (count < 0 || structures(s, SUBFLOW_ADDRESSES, &pairs, sizeof pairs.address[0]) != count)
		return -1;
	for (int i = 0; i < count && i < MAX_SUBFLOWS; i++)
		report_subflow(pairs.address[i], infos.info[i]);
	return 0;
}

static int report_connection(int s)
{
	struct sockaddr_storage pair[2] = { 0 };
	uint8_t info[TCP_INFO_BYTES] = { 0 };
	socklen_t bytes[] = { sizeof *pair, sizeof *pair, sizeof info };

	if (getsockname(s, (void *)&pair[0], &bytes[0]) || getpeername(s, (void *)&pair[1], &bytes[1]) ||
	    getsockopt(s, IPPROTO_TCP, TCP_INFO, info, &bytes[2]))
		return -1;
	report_subflow(pair, info);
	return 0;
}

static int is_closed_by_peer(int s)
{
	struct pollfd p = { s, POLLRDHUP, 0 };

	return poll(&p, 1, 0) > 0;
}

/* Report what the kernel says now, unless the connection is closed. */
void sample(int s)
{
	char name[16] = "";
	socklen_t bytes = sizeof name;
	int64_t moment = now();
	int multipath = is_multipath(s);

	if (multipath < 0 || (multipath ? report_subflows(s) : report_connection(s)) ||
	    getsockopt(s, IPPROTO_TCP, TCP_CONGESTION, name, &bytes))
		return;
	report("sample %ld %d %d %s", moment, is_closed_by_peer(s), multipath, name);
}

/* A socket that sends small packets at once. */
int tcp_socket(const struct orders *o, int multipath)
{
	int on = 1, s = socket(o->server.ss_family, SOCK_STREAM | SOCK_CLOEXEC, multipath ? IPPROTO_MPTCP_ : 0);

	if (setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
		die("TCP_NODELAY");
	return s;
}

int listening(const struct orders *o, const struct sockaddr_storage *address, int multipath)
{
	int l = tcp_socket(o, multipath);

	if (setsockopt(l, IPPROTO_TCP, TCP_CONGESTION, o->congestion_control, strlen(o->congestion_control)))
		die(o->congestion_control);
	if (o->mss && setsockopt(l, IPPROTO_TCP, TCP_MAXSEG, &o->mss, sizeof o->mss))
		die("TCP_MAXSEG");
	if (bind(l, (void *)address, address_length(o)) || listen(l, 100))
		die("listen");
	return l;
}

int accepted(int l)
{
	int s = accept4(l, NULL, NULL, SOCK_CLOEXEC);

	if (s < 0 && signalled)
		exit(0);
	if (s < 0)
		die("accept");
	return s;
}

/* Whether the client went through with it: of several attempts it keeps one. It may also go, and say why. */
static int handshake(const struct orders *o, int s)
{
	for (int i = 0; i < o->flights; i++) {
		int64_t left = discard(s, o->flight[i][0]);

		if (left && o->attempts && !i && left == o->flight[0][0])
			return 0;
		if (left)
			exit(0);
		memset(buffer, 0, sizeof buffer);
		for (left = o->flight[i][1]; left > 0; left -= BUFFER_BYTES)
			if (send(s, buffer, left < BUFFER_BYTES ? left : BUFFER_BYTES, MSG_NOSIGNAL) < 0)
				exit(0);
	}
	return 1;
}

/* Take what has arrived of requests. Whether the connection is there. */
static int take_requests(struct server *t)
{
	ssize_t got = recv(t->s, buffer, sizeof buffer, MSG_DONTWAIT);

	if (got <= 0)
		return got < 0 && errno == EAGAIN;
	if (!shape_take(&t->o->request, &t->in, buffer, got, &t->open)) {
		report("error server: a request is not the one that was sent");
		exit(1);
	}
	return 1;
}

/* Send of the answers what there is room for. Whether the connection is there. */
static int give_answers(struct server *t)
{
	const struct shape *answer = &t->o->answer;
	int64_t end = shape_bytes(answer);

	while (t->open) {
		size_t part = end - t->out < BUFFER_BYTES ? end - t->out : BUFFER_BYTES;
		ssize_t sent;

		shape_fill(answer, t->out, buffer, part);
		sent = send(t->s, buffer, part, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0)
			return errno == EAGAIN;
		t->out += sent;
		if (t->out == end) {
			t->open--;
			t->answered++;
			t->out = 0;
		}
	}
	return 1;
}

/* Serve until a moment, or until the last open request is answered. Whether the client is there. */
static int serve_until(struct server *t, int64_t until)
{
	int64_t answered = t->answered;

	while (!signalled) {
		struct pollfd p = { t->s, POLLIN | POLLRDHUP | (t->open ? POLLOUT : 0), 0 };
		int64_t left = until - now();

		if (left <= 0 || (t->answered > answered && !t->open))
			return 1;
		if (wait_for(&p, 1, left, NULL) <= 0)
			continue;
		if (p.revents & (POLLRDHUP | POLLHUP | POLLERR))
			return 0;
		if ((p.revents & POLLIN && !take_requests(t)) || !give_answers(t))
			return 0;
	}
	return 0;
}

int has_delivered(int s)
{
	int bytes = 0;

	return ioctl(s, SIOCOUTQ, &bytes) || !bytes;
}

/* Serve the next connection to its end, and report of it if it is the one that is measured. */
static void serve(const struct orders *o, int l, int measured)
{
	struct server t = { .o = o, .s = accepted(l) };

	while (!handshake(o, t.s)) {
		close(t.s);
		t.s = accepted(l);
	}
	do
		if (measured)
			sample(t.s);
	while (serve_until(&t, now() + (!t.open && !has_delivered(t.s) ? DELIVERING_NS : o->sample)));
	if (measured)
		sample(t.s);
	close(t.s);
}

void run_server(const struct orders *o)
{
	int l, proxied = o->proxy.ss_family;

	heed(SIGTERM);
	l = listening(o, &o->server, o->multipath && !proxied);
	for (int i = 0; i < o->earlier; i++)
		serve(o, l, 0);
	serve(o, l, !proxied); /* the proxy's connection with the client is the one that is measured */
}
