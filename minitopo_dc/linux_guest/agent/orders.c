/* What the agent is to do (orders.h), and the content that it sends. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONTENT_BYTES 65536

static uint8_t content[2 * CONTENT_BYTES]; /* repeated, so that any piece of half of it is in one */

/* All of a file, which is in memory from now on; NULL where there is none of this name. */
char *contents(const char *file, size_t *bytes)
{
	struct stat found;
	FILE *f = fopen(file, "r");
	char *text;

	if (!f && errno == ENOENT)
		return NULL;
	if (!f || fstat(fileno(f), &found) || !(text = malloc(found.st_size + 1)) ||
	    fread(text, 1, found.st_size, f) != (size_t)found.st_size)
		die(file);
	fclose(f);
	*bytes = found.st_size;
	return text;
}

socklen_t address_length(const struct orders *o)
{
	return o->server.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* The end of the client's connection: the proxy, if there is one. */
const struct sockaddr_storage *peer(const struct orders *o)
{
	return o->proxy.ss_family ? &o->proxy : &o->server;
}

struct orders *read_orders(const char *file)
{
	size_t bytes, content_bytes;
	struct orders *o = (void *)contents(file, &bytes);
	char *read = o && bytes >= sizeof *o && o->count ? contents("/content", &content_bytes) : NULL;

	if (!o)
		die(file);
	errno = EINVAL;
	if (bytes < sizeof *o || (o->count && (!read || content_bytes != CONTENT_BYTES)))
		die(file);
	if (read) {
		memcpy(content, read, CONTENT_BYTES);
		memcpy(content + CONTENT_BYTES, read, CONTENT_BYTES);
	}
	return o;
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

/* Take bytes of messages one behind the other, from `at` on in the first; `ended` counts. Whether they are these. */
int shape_take(const struct shape *s, int64_t *at, const uint8_t *data, size_t bytes, int64_t *ended)
{
	static uint8_t expected[CONTENT_BYTES];
	int64_t end = shape_bytes(s);

	while (bytes) {
		size_t part = (int64_t)bytes < end - *at ? bytes : (size_t)(end - *at);

		part = part < sizeof expected ? part : sizeof expected;
		shape_fill(s, *at, expected, part);
		if (memcmp(data, expected, part))
			return 0;
		*at += part;
		data += part;
		bytes -= part;
		if (*at == end) {
			++*ended;
			*at = 0;
		}
	}
	return 1;
}
