/*
 * The proxy between client and server: MPTCP with the one, TCP with the other, and their bytes between.
 *
 * It connects to the server when the client has, so that bytes flow when they do in the order of RFC 8803.
 * A connection by which a client sends nothing is one of several attempts, and not the one that it keeps.
 */
#include "agent.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES (64 * 1024) /* of each way, beside those of the sockets */

enum end { OPEN, ENDED, CLOSED };

/* One direction: what was read and is not sent yet. */
struct way {
	int from, to;
	enum end end;
	int carried; /* whether there was anything to pass on */
	ssize_t begin, filled;
	uint8_t data[BUFFER_BYTES];
};

static void fill(struct way *w)
{
	ssize_t got = recv(w->from, w->data, sizeof w->data, MSG_DONTWAIT);

	w->begin = 0;
	w->filled = got > 0 ? got : 0;
	w->carried |= got > 0;
	if (!got || (got < 0 && errno != EAGAIN))
		w->end = ENDED;
}

/* Pass on what there is. Whether the other side is there. */
static int pass(struct way *w)
{
	if (w->begin == w->filled && w->end == OPEN)
		fill(w);
	if (w->begin < w->filled) {
		ssize_t sent = send(w->to, w->data + w->begin, w->filled - w->begin, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return 0;
		w->begin += sent > 0 ? sent : 0;
	}
	if (w->begin == w->filled && w->end == ENDED) {
		shutdown(w->to, SHUT_WR);
		w->end = CLOSED;
	}
	return 1;
}

static short events(const struct way *in, const struct way *out)
{
	return (in->begin == in->filled && in->end == OPEN ? POLLIN : 0) | (out->begin < out->filled ? POLLOUT : 0);
}

/* Pass bytes both ways until both have ended, and sample the client's connection. Whether it sent any. */
static int relay(const struct orders *o, int client, int server)
{
	static struct way down, up;
	int64_t next = now();

	down = (struct way){ .from = server, .to = client };
	up = (struct way){ .from = client, .to = server };
	while (down.end != CLOSED || up.end != CLOSED) {
		struct pollfd p[] = { { client, events(&up, &down), 0 }, { server, events(&down, &up), 0 } };
		int64_t left = next - now();

		if (left <= 0) {
			sample(client);
			next = now() + (has_delivered(client) ? o->sample : DELIVERING_NS);
			continue;
		}
		for (int i = 0; i < 2; i++)
			p[i].fd = p[i].events ? p[i].fd : -1; /* one that has hung up would be ready for ever */
		if (wait_for(p, 2, left, NULL) > 0 && (!pass(&down) || !pass(&up)))
			break;
	}
	sample(client);
	return up.carried;
}

/* Take a client's connection to the server; whether it sent anything. */
static int serve(const struct orders *o, int client)
{
	int carried, server = tcp_socket(o, 0);

	if (connect(server, (void *)&o->server, address_length(o)))
		die("the proxy's connection to the server");
	carried = relay(o, client, server);
	close(client);
	close(server);
	return carried;
}

void run_proxy(const struct orders *o)
{
	int l = listening(o, &o->proxy, 1);

	while (!serve(o, accepted(l)))
		;
}
