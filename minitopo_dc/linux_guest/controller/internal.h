/* What the parts of the controller share. */
#ifndef INTERNAL_H
#define INTERNAL_H
#include <stddef.h>
#include <stdint.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "controller.h"

#define ETHERNET_HEADER 14
#define MAC_BYTES 6

/* A queue of a card (virtio 1.2, section 2.7), in the guest's memory. */
struct ring {
	uint32_t size;
	volatile struct vring_desc *descriptors;
	volatile struct vring_avail *available;
	volatile struct vring_used *used;
	uint16_t next;    /* of `available`, what was not looked at yet */
	int enabled, call; /* `call`: the guest wants to be told of what was used */
};

struct region {
	uint64_t guest_address, size;
	uint8_t *here;
	void *mapped;
	size_t mapped_bytes;
};

#define REGIONS 2 /* more than virtio_uml.c of Linux 6.12 has */
enum { RECEIVE, TRANSMIT, RINGS };

/* A network card: a vhost-user back end (docs/interop/vhost-user of QEMU). */
struct card {
	int listener, connection, calls;
	uint32_t number;
	struct region region[REGIONS];
	struct ring ring[RINGS];
	uint8_t *waiting; /* packets that found the receive ring full, each behind its length */
	size_t waiting_bytes, waiting_room, waiting_from;
	int told;	    /* in this round */
	uint64_t deaf_until; /* the guest may not have taken what it was told last, and must not be woken for more */
};

/* linux/um_timetravel.h, version 2 of the shared memory. */
struct message {
	uint32_t operation, sequence;
	uint64_t time;
};
struct client {
	uint32_t capabilities, flags;
	uint64_t wanted_time, name;
	char reserved[104];
};
#define CONTROLLER 0
#define GUEST 1
struct shared {
	union {
		struct {
			uint32_t version, bytes;
			uint64_t free_until, now;
			uint16_t running, clients_most;
		};
		char page[4096];
	};
	struct client client[2];
};

struct guest {
	int listener, connection; /* of the clock */
	int memory, log;
	int pid_file; /* readable when the process has ended */
	int pid;
	int patience_ms;
	int directory;
	uint64_t now; /* of the turn; 0 while it boots */
	unsigned rounds;
	struct shared *shared;
	struct card *card;
	uint32_t cards;
	struct frame *frame;
	uint32_t frames, frames_room;
	uint8_t *data;
	size_t data_bytes, data_room;
	char reason[160];
};

/* cards.c */
int card_listen(struct card *c, int directory, uint32_t number);
int card_message(struct card *c);
int card_drain(struct guest *g, struct card *c);
int card_feed(struct guest *g, struct card *c);
int card_calls(struct card *c);
void card_free(struct card *c);

/* controller.c: the sockets of the clock and the cards, and what is said when one breaks */
int gone(struct guest *g, const char *reason);
int listen_at(int directory, const char *name);
int receive(int from, void *to, size_t bytes, int *files, unsigned *count);
void close_all(const int *files, size_t count);
int send_all(int to, const void *what, size_t bytes);
#endif
