/*
 * Network cards of a guest: vhost-user back ends whose rings are served at the guest's waits.
 *
 * Message numbers and structures: QEMU's docs/interop/vhost-user.rst; the front end is
 * arch/um/drivers/virtio_uml.c of Linux.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	GET_FEATURES = 1, SET_FEATURES, SET_OWNER, SET_MEMORY = 5, SET_RING_SIZE = 8, SET_RING_ADDRESSES,
	SET_RING_BASE, SET_RING_KICK = 12, SET_RING_CALL, SET_RING_ERROR, GET_PROTOCOL_FEATURES,
	SET_PROTOCOL_FEATURES, SET_RING_ENABLE = 18, SET_REQUEST_CHANNEL = 21, GET_CONFIGURATION = 24,
	SET_CONFIGURATION, KICK = 35,
};
#define CALL 4 /* to the guest, on the channel of requests */
#define FLAGS 1 /* version 1 */
#define IS_REPLY 4
#define NO_DESCRIPTOR_FOR_KICKS 0x100

#define BIT(n) (1ull << (n))
/* The guest may leave checksums out: nothing between its cards can damage a packet. */
#define FEATURES \
	(BIT(VIRTIO_NET_F_CSUM) | BIT(VIRTIO_NET_F_GUEST_CSUM) | BIT(VIRTIO_NET_F_MAC) | BIT(32) /* version 1 */ | \
	 BIT(30) /* protocol features */)
/* Channel of requests, configuration, notifications in messages. */
#define PROTOCOL_FEATURES (BIT(5) | BIT(9) | BIT(14))
#define PACKET_HEADER sizeof(struct virtio_net_hdr_v1)
#define PEER_MAC { 0x02, 0, 0, 0, 0xff, 0xff } /* netlink.c of the agent has it, too */

struct header {
	uint32_t request, flags, bytes;
};

union payload {
	uint64_t number;
	struct {
		uint32_t ring, value;
	} state;
	struct {
		uint32_t ring, flags;
		uint64_t descriptors, used, available, log;
	} addresses;
	struct {
		uint32_t regions, padding;
		struct {
			uint64_t guest_address, bytes, user_address, offset;
		} region[REGIONS];
	} memory;
	struct {
		uint32_t offset, bytes, flags;
		uint8_t data[256];
	} configuration;
};

static void mac_of(const struct card *c, uint8_t mac[MAC_BYTES])
{
	memcpy(mac, (uint8_t[MAC_BYTES]){ 0x02, 0, 0, 0, c->number >> 8, c->number }, MAC_BYTES);
}

int card_listen(struct card *c, int directory, uint32_t number)
{
	char name[24];

	c->connection = c->calls = -1;
	c->number = number;
	snprintf(name, sizeof name, "card%u", number);
	c->listener = listen_at(directory, name);
	return c->listener < 0 ? -1 : 0;
}

/* Where so many bytes of the guest's memory are here; NULL: nowhere. */
static void *here(const struct card *c, uint64_t guest_address, uint64_t bytes)
{
	for (int i = 0; i < REGIONS; i++) {
		const struct region *r = &c->region[i];
		uint64_t offset = guest_address - r->guest_address;

		if (r->here && offset < r->size && bytes <= r->size - offset)
			return r->here + offset;
	}
	return NULL;
}

static int map(struct card *c, const union payload *p, const int *files, unsigned count)
{
	if (p->memory.regions > REGIONS || p->memory.regions != count)
		return -1;
	for (unsigned i = 0; i < count; i++) {
		struct region *r = &c->region[i];
		uint64_t offset = p->memory.region[i].offset;

		r->guest_address = p->memory.region[i].guest_address;
		r->size = p->memory.region[i].bytes;
		r->mapped_bytes = offset + r->size;
		r->mapped = mmap(NULL, r->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[i], 0);
		if (r->mapped == MAP_FAILED)
			return -1;
		r->here = (uint8_t *)r->mapped + offset;
	}
	return 0;
}

static int set_addresses(struct card *c, const union payload *p)
{
	struct ring *r = p->addresses.ring < RINGS ? &c->ring[p->addresses.ring] : NULL;

	if (!r || !r->size)
		return -1;
	r->descriptors = here(c, p->addresses.descriptors, r->size * sizeof *r->descriptors);
	r->available = here(c, p->addresses.available, 4 + 2 * r->size);
	r->used = here(c, p->addresses.used, 4 + r->size * sizeof *r->used->ring);
	if (!r->descriptors || !r->available || !r->used)
		return -1;
	r->used->flags = VRING_USED_F_NO_NOTIFY; /* we look at each wait of the guest */
	return 0;
}

/* The card's configuration (virtio 1.2, section 5.1.4) is its address; the guest asks for each octet. */
static void configure(const struct card *c, union payload *p)
{
	memset(p->configuration.data, 0, sizeof p->configuration.data);
	mac_of(c, p->configuration.data);
}

static int answer(struct card *c, uint32_t request, const union payload *p, uint32_t bytes)
{
	struct header h = { request, FLAGS | IS_REPLY, bytes };
	uint8_t all[sizeof h + sizeof *p];

	memcpy(all, &h, sizeof h);
	memcpy(all + sizeof h, p, bytes);
	return send_all(c->connection, all, sizeof h + bytes);
}

static int carry_out(struct card *c, const struct header *h, union payload *p, const int *files, unsigned count)
{
	struct ring *ring = p->state.ring < RINGS ? &c->ring[p->state.ring] : NULL;

	switch (h->request) {
	case GET_FEATURES:
		p->number = FEATURES;
		return answer(c, h->request, p, sizeof p->number);
	case GET_PROTOCOL_FEATURES:
		p->number = PROTOCOL_FEATURES;
		return answer(c, h->request, p, sizeof p->number);
	case GET_CONFIGURATION:
		configure(c, p);
		return answer(c, h->request, p, h->bytes);
	case SET_MEMORY:
		return map(c, p, files, count);
	case SET_RING_ADDRESSES:
		return set_addresses(c, p);
	case SET_RING_SIZE:
		return ring && (ring->size = p->state.value) ? 0 : -1;
	case SET_RING_BASE:
		return ring ? (ring->next = p->state.value, 0) : -1;
	case SET_RING_ENABLE:
		return ring ? (ring->enabled = p->state.value, 0) : -1;
	case SET_REQUEST_CHANNEL:
		return count == 1 ? (c->calls = dup(files[0])) < 0 : -1;
	default: /* SET_OWNER, SET_FEATURES, ..., KICK: nothing to do */
		return 0;
	}
}

/* Answer one message of the guest's driver. 0, or -1. */
int card_message(struct card *c)
{
	struct header h;
	union payload p = { 0 };
	int files[4], failed;
	unsigned count, more;

	if (receive(c->connection, &h, sizeof h, files, &count) || h.bytes > sizeof p)
		return -1;
	if (h.bytes && receive(c->connection, &p, h.bytes, files + count, &more))
		return -1;
	failed = carry_out(c, &h, &p, files, count);
	close_all(files, count);
	return failed ? -1 : 0;
}

static int room_for(struct guest *g, size_t bytes)
{
	if (g->frames == g->frames_room) {
		g->frames_room = g->frames_room ? 2 * g->frames_room : 64;
		g->frame = realloc(g->frame, g->frames_room * sizeof *g->frame);
	}
	if (g->data_bytes + bytes > g->data_room) {
		g->data_room = 2 * (g->data_room + bytes);
		g->data = realloc(g->data, g->data_room);
	}
	return g->frame && g->data ? 0 : -1;
}

/* Copy a chain of descriptors behind what was sent before, less the virtio header. Its bytes, or -1. */
static int64_t gather(struct guest *g, struct card *c, const struct ring *r, uint32_t head)
{
	size_t skip = PACKET_HEADER, start = g->data_bytes;
	uint32_t at = head;

	for (uint32_t parts = 0; parts < r->size; parts++) {
		volatile struct vring_desc *d = &r->descriptors[at % r->size];
		uint32_t length = d->len, left_out = length < skip ? length : skip;
		const uint8_t *from = here(c, d->addr, length);

		if (!from || room_for(g, length))
			return -1;
		memcpy(g->data + g->data_bytes, from + left_out, length - left_out);
		g->data_bytes += length - left_out;
		skip -= left_out;
		if (!(d->flags & VRING_DESC_F_NEXT))
			return g->data_bytes - start;
		at = d->next;
	}
	return -1;
}

static void give_back(struct ring *r, uint32_t head, uint32_t written)
{
	volatile struct vring_used_elem *u = &r->used->ring[r->used->idx % r->size];

	u->id = head;
	u->len = written;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	r->used->idx++;
	r->next++;
	if (!(r->available->flags & VRING_AVAIL_F_NO_INTERRUPT))
		r->call = 1;
}

/* Take all frames that the guest has sent. 0, or -1. */
int card_drain(struct guest *g, struct card *c)
{
	struct ring *r = &c->ring[TRANSMIT];
	uint16_t end;

	if (!r->available || !r->enabled)
		return 0;
	end = r->available->idx;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	while (r->next != end) {
		uint32_t head = r->available->ring[r->next % r->size];
		size_t start = g->data_bytes;
		int64_t length = gather(g, c, r, head);

		if (length < 0)
			return gone(g, "it sent a frame that is not in its memory");
		give_back(r, head, 0);
		if (length > ETHERNET_HEADER)
			g->frame[g->frames++] = (struct frame){
				.card = c->number,
				.ether_type = g->data[start + 12] << 8 | g->data[start + 13],
				.offset = start + ETHERNET_HEADER,
				.length = length - ETHERNET_HEADER,
			};
	}
	return 0;
}

static int has_room(const struct ring *r)
{
	return r->available && r->enabled && r->next != r->available->idx;
}

/* Write a packet into the receive ring, with the headers before it. 0, or -1. */
static int scatter(struct guest *g, struct card *c, const uint8_t *packet, uint32_t length)
{
	struct ring *r = &c->ring[RECEIVE];
	struct virtio_net_hdr_v1 virtio = { .flags = VIRTIO_NET_HDR_F_DATA_VALID, .num_buffers = 1 };
	uint8_t whole[PACKET_HEADER + ETHERNET_HEADER + length], peer[] = PEER_MAC;
	uint8_t *ethernet = whole + PACKET_HEADER;
	uint32_t head, at, done = 0;

	memcpy(whole, &virtio, sizeof virtio);
	mac_of(c, ethernet);
	memcpy(ethernet + MAC_BYTES, peer, MAC_BYTES);
	memcpy(ethernet + 2 * MAC_BYTES, packet[0] >> 4 == 6 ? "\x86\xdd" : "\x08\x00", 2);
	memcpy(ethernet + ETHERNET_HEADER, packet, length);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	head = at = r->available->ring[r->next % r->size];
	for (uint32_t parts = 0; parts < r->size && done < sizeof whole; parts++) {
		volatile struct vring_desc *d = &r->descriptors[at % r->size];
		uint32_t room = d->len, rest = sizeof whole - done;
		uint8_t *to = here(c, d->addr, room);

		if (!to)
			return gone(g, "it waits for a packet outside its memory");
		memcpy(to, whole + done, rest < room ? rest : room);
		done += rest < room ? rest : room;
		if (!(d->flags & VRING_DESC_F_NEXT))
			break;
		at = d->next;
	}
	give_back(r, head, done);
	return 0;
}

static int keep(struct card *c, const uint8_t *packet, uint32_t length)
{
	size_t bytes = sizeof length + length;

	if (c->waiting_bytes + bytes > c->waiting_room) {
		c->waiting_room = 2 * (c->waiting_room + bytes);
		c->waiting = realloc(c->waiting, c->waiting_room);
		if (!c->waiting)
			return -1;
	}
	memcpy(c->waiting + c->waiting_bytes, &length, sizeof length);
	memcpy(c->waiting + c->waiting_bytes + sizeof length, packet, length);
	c->waiting_bytes += bytes;
	return 0;
}

/* Hand a packet to the guest, which is to run at this moment, or keep it until there is room: a card loses nothing. */
int guest_inject(struct guest *g, uint32_t card, const uint8_t *packet, uint32_t length)
{
	struct card *c = &g->card[card];

	if (c->waiting_bytes || !has_room(&c->ring[RECEIVE]))
		return keep(c, packet, length) ? gone(g, "no memory") : 0;
	return scatter(g, c, packet, length);
}

/* Hand over what had no room before. 0, or -1. */
int card_feed(struct guest *g, struct card *c)
{
	while (c->waiting_from < c->waiting_bytes && has_room(&c->ring[RECEIVE])) {
		const uint8_t *kept = c->waiting + c->waiting_from;
		uint32_t length;

		memcpy(&length, kept, sizeof length);
		if (scatter(g, c, kept + sizeof length, length))
			return -1;
		c->waiting_from += sizeof length + length;
	}
	if (c->waiting_from == c->waiting_bytes)
		c->waiting_from = c->waiting_bytes = 0;
	return 0;
}

/* Tell the guest of what was used since. 0, or -1. */
int card_calls(struct card *c)
{
	for (uint32_t i = 0; i < RINGS; i++) {
		struct {
			struct header h;
			uint32_t ring, padding;
		} call = { { CALL, FLAGS, 8 }, i, 0 };

		if (!c->ring[i].call)
			continue;
		c->ring[i].call = 0;
		c->told = 1;
		if (send_all(c->calls, &call, sizeof call))
			return -1;
	}
	return 0;
}

void card_free(struct card *c)
{
	int files[] = { c->listener, c->connection, c->calls };

	close_all(files, sizeof files / sizeof *files);
	for (int i = 0; i < REGIONS; i++)
		if (c->region[i].mapped && c->region[i].mapped != MAP_FAILED)
			munmap(c->region[i].mapped, c->region[i].mapped_bytes);
	free(c->waiting);
}
