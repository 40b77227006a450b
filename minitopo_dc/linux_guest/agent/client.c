/* The client: connects, asks, checks every byte of the answers, and reports when what was there. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define BUFFER_BYTES (256 * 1024)
#define PAUSE_NS NS_PER_S /* behind an earlier download: the server has closed its connection */
#define AGAIN_US 1000 /* a signal right before a call would be lost */

static uint8_t buffer[BUFFER_BYTES];

/* From now on calls that wait end at a moment. */
static void end_calls_at(int64_t moment)
{
	int64_t left = moment - now();
	struct itimerval timer = {
		{ 0, AGAIN_US },
		{ left / NS_PER_S, left % NS_PER_S / 1000 },
	};

	heed(SIGALRM);
	if (left < 1000)
		timer.it_value.tv_usec = 1;
	setitimer(ITIMER_REAL, &timer, NULL);
}

static int made(const struct orders *o, int card, int port)
{
	struct sockaddr_storage from = o->client[card];
	int s = tcp_socket(o, o->multipath);

	((struct sockaddr_in *)&from)->sin_port = htons(port); /* at the same place in both families */
	if (bind(s, (void *)&from, address_length(o)))
		die("bind");
	return s;
}

/* End in order when the workload's time is over; else with the call's error. */
static void stop(const char *what, int64_t bytes)
{
	if (!signalled)
		die(what);
	report("end %ld %ld", now(), bytes);
	exit(0);
}

static void send_whole(int s, const struct shape *shape, int64_t from, int64_t end)
{
	while (from < end) {
		size_t part = end - from < BUFFER_BYTES ? end - from : BUFFER_BYTES;
		ssize_t sent;

		shape_fill(shape, from, buffer, part);
		sent = send(s, buffer, part, MSG_NOSIGNAL);
		if (sent < 0)
			stop("send", 0);
		from += sent;
	}
}

static void handshake(const struct orders *o, int s)
{
	for (int i = 0; i < o->flights; i++) {
		struct shape zeros = { .head = o->flight[i][0], .block = 1 };

		send_whole(s, &zeros, 0, zeros.head);
		if (discard(s, o->flight[i][1]))
			stop("handshake", 0);
	}
	report("handshake %ld", now());
}

static void download(const struct orders *o, int s)
{
	int64_t at = 0, ended = 0;

	send_whole(s, &o->request, 0, shape_bytes(&o->request));
	while (!ended && !signalled) {
		ssize_t got = recv(s, buffer, sizeof buffer, 0);
		int64_t before = at;

		if (!got)
			errno = ECONNRESET;
		if (got <= 0)
			stop("recv", shape_content(&o->answer, at));
		if (!shape_take(&o->answer, &at, buffer, got, &ended)) {
			report("error client received %ld bytes, not those sent", shape_content(&o->answer, before + got));
			exit(1);
		}
		if (!before)
			report("first %ld", now());
	}
	report("end %ld %ld", now(), ended ? o->answer.body : shape_content(&o->answer, at));
}

/* Read what is there of answers, which come in the order of the requests; how many are complete. */
static int64_t take_answers(const struct orders *o, int s, int64_t answered, int64_t *at)
{
	ssize_t got = recv(s, buffer, sizeof buffer, MSG_DONTWAIT);
	int64_t before = answered;
	int right = 1;

	if (!got)
		errno = ECONNRESET;
	if (got <= 0 && errno != EAGAIN)
		die("recv");
	if (got > 0)
		right = shape_take(&o->answer, at, buffer, got, &answered);
	while (before < answered)
		report("answered %ld %ld", before++, now());
	if (!right) {
		report("error request %ld was answered with bytes that are not those sent", answered);
		exit(1);
	}
	return answered;
}

static void requests(const struct orders *o, int s)
{
	int64_t first = now(), sent = 0, answered = 0, at = 0, last = 0;

	while (answered < o->count) {
		int64_t left = (sent < o->count ? first + sent * o->interval : last + o->patience) - now();
		struct pollfd p = { s, POLLIN, 0 };

		if (left <= 0 && sent == o->count)
			break;
		if (left <= 0) {
			send_whole(s, &o->request, 0, shape_bytes(&o->request));
			last = now();
			report("sent %ld %ld", sent++, last);
		} else if (wait_for(&p, 1, left, NULL) > 0) {
			answered = take_answers(o, s, answered, &at);
		}
	}
	report("end %ld %ld", now(), answered * o->answer.body);
}

/* The next thing of a connection's start: an attempt that has ended, or none by a moment (NEVER: no such). */
static struct pollfd *next_event(struct pollfd *attempts, int count, int64_t until)
{
	int ready = wait_for(attempts, count, until == NEVER ? NEVER : until - now(), NULL);

	if (ready < 0)
		stop("connect", 0);
	for (int i = 0; ready && i < count; i++)
		if (attempts[i].revents)
			return &attempts[i];
	return NULL;
}

/* Begin to connect from a card. */
static struct pollfd begun(const struct orders *o, int card, int port)
{
	int s = made(o, card, port);

	if (fcntl(s, F_SETFL, O_NONBLOCK) || (connect(s, (void *)peer(o), address_length(o)) && errno != EINPROGRESS))
		die("connect");
	return (struct pollfd){ s, POLLOUT, 0 };
}

/* One of the attempts, which is kept; the others are given up. */
static int kept(struct pollfd *attempts, int count, const struct pollfd *one)
{
	for (int i = 0; i < count; i++)
		if (attempts[i].fd >= 0 && &attempts[i] != one)
			close(attempts[i].fd);
	if (fcntl(one->fd, F_SETFL, 0))
		die("fcntl");
	return one->fd;
}

/* The first connection that is ready, of attempts that begin one after the other (RFC 8305, section 5). */
static int quickest(const struct orders *o, int port)
{
	static struct pollfd attempts[CLIENTS];
	int count = 0, failed = 0;
	int64_t next = now();

	for (;;) {
		struct pollfd *p;

		if (now() >= next) {
			attempts[count] = begun(o, count ? o->attempt[count - 1] : o->first, port);
			next = count++ < o->attempts ? next + o->attempt_delay : NEVER;
		}
		p = next_event(attempts, count, next);
		if (!p)
			continue;
		/* Its error, if it has one, is in errno then. */
		if (!getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &errno, &(socklen_t){ sizeof errno }) && !errno)
			return kept(attempts, count, p);
		close(p->fd);
		p->fd = -1;
		if (++failed > o->attempts)
			stop("connect", 0);
		next = next == NEVER ? NEVER : now();
	}
}

/* Connect from a port (0: any), and do what is to be done. `connected` is told, -1: nobody is. */
static void run_once(const struct orders *o, int port, int connected)
{
	int s;

	report("begin %ld", now());
	if (o->duration)
		end_calls_at(o->begin + o->duration);
	s = quickest(o, port);
	report("connected %ld", now());
	if (connected >= 0)
		tell(connected);
	handshake(o, s);
	if (o->is_download)
		download(o, s);
	else
		requests(o, s);
	close(s);
}

void run_client(const struct orders *o, int connected)
{
	sleep_until(o->begin);
	for (int i = 0; i < o->earlier; i++) {
		run_once(o, 0, -1);
		sleep_until(now() + PAUSE_NS);
	}
	run_once(o, o->client_port, connected);
}
