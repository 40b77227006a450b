/* Captures of legs: twins of capture/__init__.py and real/element/captures.py, which have the rules. */
#include "element.h"

#include <errno.h>
#include <unistd.h>

#define WRITE_BYTES (1 << 16) /* as BUFFER of capture/__init__.py, with its reason */
#define RECORD_HEADER 16
#define LONGEST_RECORD (RECORD_HEADER + FORM_ROOM + SN_MAX_BYTES + MAX_MESSAGE)
#define LONGEST_IPV4 65535
#define UDP_LENGTH 24 /* where it is in the outer datagram */
#define IPV4_HEADER 20

struct capture {
    capture *next; /* of the element's */
    element *of;
    int descriptor, error; /* error: errno of the file; nothing is written from then on */
    int64_t offset;
    size_t used;
    uint8_t bytes[WRITE_BYTES + LONGEST_RECORD];
};

capture *element_capture(element *self, int descriptor, int64_t offset)
{
    capture *made = zeroed(1, sizeof(*made));

    made->of = self;
    made->descriptor = descriptor;
    made->offset = offset;
    made->next = self->captures;
    self->captures = made;
    router_own(&self->router, made, free);
    return made;
}

static void write_out(capture *self)
{
    const uint8_t *at = self->bytes, *end = at + self->used;

    while (at < end && !self->error) {
        ssize_t done = write(self->descriptor, at, (size_t)(end - at));

        if (done >= 0)
            at += done;
        else if (errno != EINTR)
            self->error = errno;
    }
    self->used = 0;
    if (self->error)
        element_fail(self->of, self->error, self->descriptor);
}

void captures_write(element *of)
{
    for (capture *each = of->captures; each != NULL; each = each->next)
        if (each->used >= WRITE_BYTES)
            write_out(each);
}

int element_capture_end(capture *self)
{
    write_out(self);
    return self->error;
}

/* Where the next record's packet goes. */
static uint8_t *next_packet(capture *self)
{
    if (self->used >= WRITE_BYTES) { /* many in one batch */
        element_flush(self->of);
        write_out(self);
    }
    return self->bytes + self->used + RECORD_HEADER;
}

/* Put the header before the packet that is there now. */
static void add_record(capture *self, int length, int64_t now)
{
    int64_t wall = now + self->offset, seconds = floor_div(wall, NS_PER_S);
    uint32_t header[] = {(uint32_t)seconds, (uint32_t)(wall - seconds * NS_PER_S), (uint32_t)length,
                         (uint32_t)length};

    memcpy(self->bytes + self->used, header, sizeof(header));
    self->used += sizeof(header) + (size_t)length;
}

void capture_packet(capture *self, const uint8_t *ip, int length, int64_t now)
{
    memcpy(next_packet(self), ip, (size_t)length);
    add_record(self, length, now);
}

/* Put an outer datagram around a PDU of `bytes`, which is behind the room for its headers and tags. */
static void put_outer(uint8_t *at, const capture_form *form, int bytes)
{
    int total = form->length + bytes;

    memcpy(at, form->start, (size_t)form->length);
    ip_set_total(at, total, bytes);
    at[UDP_LENGTH] = (uint8_t)((total - IPV4_HEADER) >> 8);
    at[UDP_LENGTH + 1] = (uint8_t)(total - IPV4_HEADER);
}

void capture_pdu(capture *self, const capture_form *form, const uint8_t *ip, int length, int64_t now)
{
    uint8_t *at = next_packet(self), *sdu = at + form->length;
    int size;

    if (form->length)
        sdu += form->number_bytes;
    memcpy(sdu, ip, (size_t)length);
    size = ip_split_trailer(sdu, length, form->number_bytes);
    if (size < 0 || (form->length && form->length + form->number_bytes + size > LONGEST_IPV4)) {
        capture_packet(self, ip, length, now);
        return;
    }
    size += form->number_bytes;
    if (form->length) {
        memcpy(at + form->length, sdu + size - form->number_bytes, (size_t)form->number_bytes);
        put_outer(at, form, size);
    }
    add_record(self, form->length + size, now);
}
