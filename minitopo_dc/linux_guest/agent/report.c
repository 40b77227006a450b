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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOCAL_EXPERIMENT 0x88b5 /* IEEE 802, local experimental ethertype 1 */
#define LONGEST 1500

volatile sig_atomic_t signalled;

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

/* Wait for an event of some files for so long (ns; NEVER: for an event), as ppoll(2) does. */
int wait_for(struct pollfd *files, int count, int64_t ns, const sigset_t *blocked)
{
	struct timespec t = { ns / NS_PER_S, ns % NS_PER_S };

	if (ns < 0)
		t = (struct timespec){ 0, 0 };
	return ppoll(files, count, ns == NEVER ? NULL : &t, blocked);
}

/* Receive so many bytes, of which nothing is wanted. How many are left when the peer has gone or a signal came. */
int64_t discard(int s, int64_t bytes)
{
	char piece[4096];

	while (bytes > 0) {
		ssize_t got = recv(s, piece, bytes < (int64_t)sizeof piece ? bytes : (int64_t)sizeof piece, 0);

		if (!got)
			errno = ECONNRESET;
		if (got <= 0)
			break;
		bytes -= got;
	}
	return bytes;
}

static void note(int number)
{
	(void)number;
	signalled = 1;
}

/* From now on a signal ends calls that wait, and is noted. */
void heed(int number)
{
	struct sigaction action = { .sa_handler = note };

	sigaction(number, &action, NULL);
}

void wait_for_byte(int from)
{
	char byte;

	if (read(from, &byte, 1) != 1)
		die("read");
}

void tell(int to)
{
	if (write(to, "", 1) != 1)
		die("write");
}
