/* What the agent is to do (a file that orders.py writes), and the content that it sends. */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTENT_BYTES 65536

static uint8_t content[2 * CONTENT_BYTES]; /* repeated, so that any piece of half of it is in one */

static void set_address(const struct orders *o, struct sockaddr_storage *to, const char *text, int port)
{
	void *at = o->family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)to)->sin6_addr :
					   (void *)&((struct sockaddr_in *)to)->sin_addr;

	to->ss_family = o->family;
	((struct sockaddr_in *)to)->sin_port = htons(port); /* at the same place in both */
	if (inet_pton(o->family, text, at) != 1) {
		errno = EINVAL;
		die(text);
	}
}

socklen_t address_length(const struct orders *o)
{
	return o->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* The end of the client's connection: the proxy, if there is one. */
const struct sockaddr_storage *peer(const struct orders *o)
{
	return o->proxied ? &o->proxy : &o->server;
}

static void read_content(void)
{
	FILE *f = fopen("/content", "r");

	if (!f || fread(content, CONTENT_BYTES, 1, f) != 1)
		die("/content");
	memcpy(content + CONTENT_BYTES, content, CONTENT_BYTES);
	fclose(f);
}

static int read_shape(const char *line, const char *name, struct shape *s)
{
	size_t length = strlen(name);

	return !strncmp(line, name, length) &&
	       sscanf(line + length, " %ld %ld %ld %ld", &s->head, &s->body, &s->block, &s->frame) == 4;
}

static int read_change(struct orders *o, const char *line)
{
	static const char *const names[] = { "add", "delete", "delete-initial", "backup", "available" };
	struct change c;
	char name[WORD];

	if (sscanf(line, "change %ld %63s %d", &c.at, name, &c.card) != 3)
		return 0;
	for (c.action = 0; strcmp(names[c.action], name); c.action++)
		if (c.action == SET_AVAILABLE)
			return 0;
	o->change = realloc(o->change, (o->changes + 1) * sizeof *o->change);
	o->change[o->changes++] = c;
	return 1;
}

/* `sysctl NAME VALUE`, as sysctl(8) has names. */
static int read_setting(struct orders *o, const char *line)
{
	struct setting *s = &o->setting[o->settings % SETTINGS];
	char name[128];

	if (sscanf(line, "sysctl %127s %159[^\n]", name, s->value) != 2)
		return 0;
	for (char *at = name; *at; at++)
		*at = *at == '.' ? '/' : *at;
	snprintf(s->file, sizeof s->file, "/proc/sys/%s", name);
	return ++o->settings <= SETTINGS;
}

static int read_attempt(struct orders *o, const char *line)
{
	int card;

	if (sscanf(line, "attempt %d %ld", &card, &o->attempt_delay) != 2)
		return 0;
	o->attempt[o->attempts % CLIENTS] = card;
	return ++o->attempts <= CLIENTS;
}

static int read_line(struct orders *o, const char *line)
{
	char text[WORD];
	int card, version;

	if (sscanf(line, "ip %d", &version) == 1)
		return o->family = version == 6 ? AF_INET6 : AF_INET;
	if (sscanf(line, "server %63s %d", text, &o->port) == 2)
		return set_address(o, &o->server, text, o->port), 1;
	if (sscanf(line, "proxy %63s", text) == 1)
		return set_address(o, &o->proxy, text, o->port), o->proxied = 1;
	if (sscanf(line, "client %d %63s", &card, text) == 2 && card > 0 && card <= CLIENTS) {
		set_address(o, &o->client[card], text, 0);
		o->clients = card;
		return 1;
	}
	if (sscanf(line, "flight %ld %ld", &o->flight[o->flights % FLIGHTS][0], &o->flight[o->flights % FLIGHTS][1]) == 2)
		return ++o->flights <= FLIGHTS;
	if (sscanf(line, "requests %ld %ld %ld", &o->count, &o->interval, &o->patience) == 3)
		return 1;
	if (sscanf(line, "download %ld", &o->duration) == 1)
		return o->is_download = o->count = 1;
	if (sscanf(line, "programs %d %ld", &o->ready_port, &o->patience) == 2)
		return o->programs = 1;
	return sscanf(line, "begin %ld", &o->begin) == 1 || sscanf(line, "sample %ld", &o->sample) == 1 ||
	       sscanf(line, "multipath %d", &o->multipath) == 1 || sscanf(line, "subflows %d", &o->subflows) == 1 ||
	       sscanf(line, "stop-signal %d", &o->stop_signal) == 1 ||
	       sscanf(line, "mss %d", &o->mss) == 1 || sscanf(line, "earlier %d", &o->earlier) == 1 ||
	       sscanf(line, "first %d %d", &o->first, &o->client_port) == 2 ||
	       sscanf(line, "congestion-control %63s", o->congestion_control) == 1 ||
	       read_shape(line, "request", &o->request) || read_shape(line, "answer", &o->answer) || read_change(o, line) ||
	       read_attempt(o, line) || read_setting(o, line);
}

void read_orders(struct orders *o, const char *file)
{
	FILE *f = fopen(file, "r");
	char line[512];

	if (!f)
		die(file);
	o->stop_signal = SIGTERM;
	while (fgets(line, sizeof line, f))
		if (!read_line(o, line)) {
			errno = EINVAL;
			die(line);
		}
	fclose(f);
	if (o->count)
		read_content();
}

/* How many bytes a message has. */
int64_t shape_bytes(const struct shape *s)
{
	return s->head + s->body + (s->body + s->block - 1) / s->block * s->frame;
}

/* How many bytes of content are among a message's first ones. */
int64_t shape_content(const struct shape *s, int64_t bytes)
{
	int64_t behind = bytes - s->head, part;

	if (behind <= 0)
		return 0;
	part = behind % (s->block + s->frame) - s->frame;
	return behind / (s->block + s->frame) * s->block + (part > 0 ? part : 0);
}

/* The piece of a message that begins at `from`: where its content is, NULL for zeros; and its bytes. */
static const uint8_t *piece(const struct shape *s, int64_t from, size_t *bytes)
{
	int64_t behind = from - s->head, block, at;
	size_t left;

	if (behind < 0) {
		left = -behind;
		*bytes = *bytes < left ? *bytes : left;
		return NULL;
	}
	block = behind / (s->block + s->frame);
	at = behind % (s->block + s->frame) - s->frame;
	left = at < 0 ? -at : s->block - at;
	left = left < CONTENT_BYTES ? left : CONTENT_BYTES;
	*bytes = *bytes < left ? *bytes : left;
	return at < 0 ? NULL : content + (block * s->block + at) % CONTENT_BYTES;
}

/* Write so many bytes of a message, from one of them on. */
void shape_fill(const struct shape *s, int64_t from, uint8_t *to, size_t bytes)
{
	while (bytes) {
		size_t part = bytes;
		const uint8_t *source = piece(s, from, &part);

		if (source)
			memcpy(to, source, part);
		else
			memset(to, 0, part);
		from += part;
		to += part;
		bytes -= part;
	}
}

/* Whether these bytes are a message's from one of them on. */
int shape_matches(const struct shape *s, int64_t from, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		size_t part = bytes;
		const uint8_t *source = piece(s, from, &part);

		for (size_t i = 0; !source && i < part; i++)
			if (data[i])
				return 0;
		if (source && memcmp(data, source, part))
			return 0;
		from += part;
		data += part;
		bytes -= part;
	}
	return 1;
}
