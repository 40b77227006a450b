/*
 * The agent's words to who runs it. Out of a guest they are frames of a type that nobody else uses,
 * on a card: they arrive at the moment at which they are sent, and disturb nothing. Else they are
 * lines of standard output.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOCAL_EXPERIMENT 0x88b5 /* IEEE 802, local experimental ethertype 1 */
#define LONGEST 1500

static int channel = -1;
static struct sockaddr_ll channel_to;

int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Report by a card of this process's network. */
void report_by(const char *name)
{
	channel = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	channel_to = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_protocol = htons(LOCAL_EXPERIMENT),
		.sll_ifindex = if_nametoindex(name),
		.sll_halen = 6,
	};
	if (channel < 0 || !channel_to.sll_ifindex)
		die("report_by");
}

static void send_words(const char *words, int bytes)
{
	if (channel < 0 || sendto(channel, words, bytes, 0, (void *)&channel_to, sizeof channel_to) != bytes)
		dprintf(1, "%.*s\n", bytes, words); /* the guest's console */
}

void report(const char *format, ...)
{
	char text[LONGEST];
	va_list values;
	int bytes;

	va_start(values, format);
	bytes = vsnprintf(text, sizeof text, format, values);
	va_end(values);
	send_words(text, bytes < LONGEST ? bytes : LONGEST - 1);
}

/* What a program has printed: at most OUTPUT_BYTES. */
void report_output(const char *role, int number, const char *piece, size_t bytes)
{
	char text[LONGEST];
	int head = snprintf(text, sizeof text, "output %s %d ", role, number);

	memcpy(text + head, piece, bytes);
	send_words(text, head + bytes);
}

/* End this process with the reason of the last call's failure. */
void die(const char *what)
{
	report("error %s: %s", what, strerror(errno));
	exit(1);
}

void sleep_until(int64_t moment)
{
	struct timespec t = { moment / NS_PER_S, moment % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void put(const char *file, const char *value)
{
	int f = open(file, O_WRONLY | O_CLOEXEC);

	if (f < 0 || write(f, value, strlen(value)) < 0)
		die(file);
	close(f);
}

/* Wait for one of the events, or until a moment; what came, 0 at the moment. */
int wait_for(int file, int events, int64_t until)
{
	struct pollfd p = { file, events, 0 };

	for (;;) {
		int64_t left = until == NEVER ? 0 : until - now();
		struct timespec t = { left / NS_PER_S, left % NS_PER_S };
		int ready;

		if (left < 0)
			t = (struct timespec){ 0, 0 };
		ready = ppoll(&p, 1, until == NEVER ? NULL : &t, NULL);
		if (ready > 0)
			return p.revents;
		if (!ready)
			return 0;
		if (errno != EINTR)
			die("poll");
	}
}
