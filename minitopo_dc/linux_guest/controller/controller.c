/*
 * The clock of a Linux kernel that runs as a process (user-mode Linux, time-travel=ext).
 *
 * The kernel runs at a moment of ours until it has nothing left to do then, and says when it wants
 * to run next. Both are in memory that it shares with us (linux/um_timetravel.h); two messages
 * remain for each turn: RUN to it, WAIT from it.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { ACK, START, REQUEST, WAIT, GET, UPDATE, RUN, FREE_UNTIL, GET_TIME_OF_DAY };
#define WANTS_TO_RUN 1
#define SHARES_MEMORY 1
#define VERSION 2
#define TIME_OF_DAY_NS 1700000000000000000ull /* the same in every run */
#define DELAY_NS 10000 /* the longest that a program's call takes (time_travel_look, in the patch) */
#define MAX_ROUNDS 100000 /* at one moment; a guest that does its work needs a few */

int gone(struct guest *g, const char *reason)
{
	if (!g->reason[0])
		snprintf(g->reason, sizeof g->reason, "%s", reason);
	return GUEST_GONE;
}

int listen_at(int directory, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* However long the directory's name is. */
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name);
	unlinkat(directory, name, 0);
	if (s >= 0 && !bind(s, (void *)&address, sizeof address) && !listen(s, 1))
		return s;
	if (s >= 0)
		close(s);
	return -1;
}

/* Receive so many bytes, and the files that come with them. 0, or -1. */
int receive(int from, void *to, size_t bytes, int *files, unsigned *count)
{
	char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec where = { to, bytes };
	struct msghdr header = {
		.msg_iov = &where, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control,
	};
	ssize_t got;

	*count = 0;
	do
		got = recvmsg(from, &header, MSG_WAITALL | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)bytes)
		return -1;
	for (struct cmsghdr *each = CMSG_FIRSTHDR(&header); each; each = CMSG_NXTHDR(&header, each))
		if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS) {
			*count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(files, CMSG_DATA(each), *count * sizeof(int));
		}
	return 0;
}

void close_all(const int *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (files[i] >= 0)
			close(files[i]);
}

int send_all(int to, const void *what, size_t bytes)
{
	return send(to, what, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -1;
}

static int acknowledge(struct guest *g, uint32_t sequence, uint64_t time)
{
	struct message ack = { ACK, sequence, time };

	return send_all(g->connection, &ack, sizeof ack);
}

/* The first answer carries the shared memory and a file for logs; its time is the client's number. */
static int share(struct guest *g, uint32_t sequence)
{
	struct message ack = { ACK, sequence, GUEST };
	struct iovec what = { &ack, sizeof ack };
	int files[] = { g->memory, g->log };
	char control[CMSG_SPACE(sizeof files)] = { 0 };
	struct msghdr header = {
		.msg_iov = &what, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control,
	};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&header);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof files);
	memcpy(CMSG_DATA(rights), files, sizeof files);
	return sendmsg(g->connection, &header, MSG_NOSIGNAL) == sizeof ack ? 0 : -1;
}

struct guest *guest_new(int directory, uint32_t cards, uint64_t begin_ns, int patience_ms)
{
	struct guest *g = calloc(1, sizeof *g);

	g->directory = directory;
	g->patience_ms = patience_ms;
	g->connection = g->pid_file = -1;
	g->cards = cards;
	g->card = calloc(cards, sizeof *g->card);
	g->memory = memfd_create("clock", MFD_CLOEXEC);
	g->log = memfd_create("log", MFD_CLOEXEC);
	g->listener = listen_at(directory, "clock");
	g->shared = MAP_FAILED;
	if (g->memory >= 0 && !ftruncate(g->memory, sizeof *g->shared))
		g->shared = mmap(NULL, sizeof *g->shared, PROT_READ | PROT_WRITE, MAP_SHARED, g->memory, 0);
	for (uint32_t i = 0; i < cards; i++)
		if (card_listen(&g->card[i], directory, i))
			gone(g, strerror(errno));
	if (g->shared == MAP_FAILED || g->listener < 0) {
		gone(g, strerror(errno));
		return g;
	}
	g->shared->version = VERSION;
	g->shared->bytes = sizeof *g->shared;
	g->shared->clients_most = 2;
	g->shared->client[CONTROLLER].capabilities = SHARES_MEMORY;
	g->shared->running = GUEST; /* it boots, and need not ask, */
	g->shared->free_until = begin_ns; /* until here */
	return g;
}

/* Start the process; it is killed when our thread ends. Its pid, or -1 (errno). */
int guest_start(struct guest *g, int program, char *const arguments[], char *const environment[], int console)
{
	int parent = getpid(), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid;

	if (g->reason[0] || null < 0)
		return -1;
	/* Not fork: this process may be large. The child does nothing but calls of the kernel. */
	pid = vfork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Where the heap begins, the guest's memory ends: fewer holes, faster boots. */
		personality(ADDR_NO_RANDOMIZE);
		if (getppid() != parent || fchdir(g->directory) || dup2(null, 0) < 0 || dup2(console, 1) < 0 ||
		    dup2(console, 2) < 0)
			_exit(127);
		setsid(); /* a terminal's signals are ours alone */
		syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH);
		_exit(127);
	}
	close(null);
	if (pid > 0)
		g->pid_file = syscall(SYS_pidfd_open, pid, 0);
	g->pid = pid;
	return pid;
}

/* Answer the cards' messages, and take what has connected. 1 when the clock has a message, and nothing else came
 * before it: the guest sets its cards up without waiting for answers, and then says that it waits. */
static int attend(struct guest *g, struct pollfd *files)
{
	int busy = 0;

	for (uint32_t i = 0; i < g->cards; i++) {
		struct card *c = &g->card[i];

		if (!(files[2 + i].revents & POLLIN))
			continue;
		busy = 1;
		if (c->connection < 0)
			c->connection = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
		else if (card_message(c))
			return gone(g, "it broke off the connection to a network card");
	}
	if (busy)
		return 0;
	if (files[1].revents && g->connection >= 0)
		return 1;
	if (files[1].revents)
		g->connection = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC);
	/* Last: what it wrote before it ended comes first. */
	return files[0].revents ? gone(g, "its process has ended") : 0;
}

/* Wait for a message of the clock. 1 when it is there. */
static int wait_for_message(struct guest *g)
{
	struct pollfd files[2 + g->cards];
	int ready;

	do {
		files[0] = (struct pollfd){ g->pid_file, POLLIN, 0 };
		files[1] = (struct pollfd){ g->connection < 0 ? g->listener : g->connection, POLLIN, 0 };
		for (uint32_t i = 0; i < g->cards; i++) {
			struct card *c = &g->card[i];

			files[2 + i] = (struct pollfd){ c->connection < 0 ? c->listener : c->connection, POLLIN, 0 };
		}
		ready = poll(files, 2 + g->cards, g->patience_ms);
		if (ready < 0)
			return errno == EINTR ? GUEST_INTERRUPTED : gone(g, strerror(errno));
		if (!ready)
			return GUEST_SILENT;
		ready = attend(g, files);
	} while (!ready);
	return ready;
}

/* Serve the guest until it waits. */
static int serve(struct guest *g)
{
	for (;;) {
		struct message m;
		int failed = 0, ready = wait_for_message(g);

		if (ready < 0)
			return ready;
		if (recv(g->connection, &m, sizeof m, MSG_WAITALL) != sizeof m)
			return gone(g, "it has closed its clock");
		switch (m.operation) {
		case WAIT:
			g->shared->running = CONTROLLER;
			return GUEST_WAITS;
		case START:
			failed = share(g, m.sequence);
			break;
		case GET:
			failed = acknowledge(g, m.sequence, g->shared->now);
			break;
		case GET_TIME_OF_DAY:
			failed = acknowledge(g, m.sequence, TIME_OF_DAY_NS);
			break;
		default:
			return gone(g, "it sent a message that no guest with shared memory sends");
		}
		if (failed)
			return gone(g, "it has closed its clock");
	}
}

/* Whether the guest has something to do at this moment. Without, it must not run: it would be at a loss. */
static int is_due(const struct guest *g)
{
	int due = guest_next(g) <= g->now;

	for (uint32_t i = 0; i < g->cards; i++) {
		const struct card *c = &g->card[i];

		due |= g->now >= c->deaf_until && (c->ring[RECEIVE].call || c->ring[TRANSMIT].call);
	}
	return due;
}

/* While a program's call takes its time the guest takes no interrupts. It remembers one of each card, and is at a loss
 * if it is woken for another one. So what follows waits until the call is over. */
static void note_delay(struct guest *g)
{
	uint64_t next = guest_next(g);

	for (uint32_t i = 0; i < g->cards; i++) {
		if (g->card[i].told)
			g->card[i].deaf_until = next <= g->now + DELAY_NS ? next : 0;
		g->card[i].told = 0;
	}
}

/* Hand the moment over: first what the cards have to tell, then the clock. 0, or -1. */
static int hand_over(struct guest *g)
{
	struct message run = { RUN, ++g->rounds, g->now };

	g->shared->now = g->now;
	for (uint32_t i = 0; i < g->cards; i++)
		if (card_calls(&g->card[i]))
			return gone(g, "it has closed a network card");
	g->shared->running = GUEST;
	g->shared->free_until = g->now + 1; /* it stops before time passes */
	return send_all(g->connection, &run, sizeof run) ? gone(g, "it has closed its clock") : 0;
}

/* Take what was sent, and give what found no room before. 0, or -1. */
static int settle(struct guest *g)
{
	for (uint32_t i = 0; i < g->cards; i++)
		if (card_drain(g, &g->card[i]) || card_feed(g, &g->card[i]))
			return GUEST_GONE;
	return 0;
}

/* Boot, or go on from where a signal has interrupted, until nothing is left to do at this moment. */
int guest_go_on(struct guest *g)
{
	for (;;) {
		int ended = serve(g);

		if (ended != GUEST_WAITS || settle(g))
			return ended ? ended : GUEST_GONE;
		note_delay(g);
		/* Until it has booted, its time is its own: what its cards have to tell waits. */
		if (!g->now || !is_due(g))
			return GUEST_WAITS;
		if (g->rounds > MAX_ROUNDS)
			return GUEST_RESTLESS;
		if (hand_over(g))
			return GUEST_GONE;
	}
}

/* Let the guest do what it has to do at a moment; `guest_frames` has what it sent. */
int guest_run(struct guest *g, uint64_t now_ns)
{
	g->frames = 0;
	g->data_bytes = 0;
	g->now = now_ns;
	g->rounds = 0;
	if (!is_due(g))
		return GUEST_WAITS;
	return hand_over(g) ? GUEST_GONE : guest_go_on(g);
}

/* When the guest wants to run next (ns); UINT64_MAX: not by itself. */
uint64_t guest_next(const struct guest *g)
{
	const struct client *c = &g->shared->client[GUEST];

	return c->flags & WANTS_TO_RUN ? c->wanted_time : UINT64_MAX;
}

const struct frame *guest_frames(const struct guest *g, uint32_t *count)
{
	*count = g->frames;
	return g->frame;
}

const uint8_t *guest_data(const struct guest *g)
{
	return g->data;
}

const char *guest_reason(const struct guest *g)
{
	return g->reason;
}

/* Close everything; the process must have ended, or it panics. */
void guest_free(struct guest *g)
{
	int files[] = { g->listener, g->connection, g->memory, g->log, g->pid_file };

	for (uint32_t i = 0; i < g->cards; i++)
		card_free(&g->card[i]);
	close_all(files, sizeof files / sizeof *files);
	if (g->shared != MAP_FAILED)
		munmap(g->shared, sizeof *g->shared);
	free(g->card);
	free(g->frame);
	free(g->data);
	free(g);
}
