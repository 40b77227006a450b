/* What Python calls of the controller: one Linux kernel as a process, its clock and its network cards. */

/* What a call came back with. */
enum ended {
	GUEST_WAITS = 0,	/* nothing is left to do for it before the moment that `guest_next` tells */
	GUEST_GONE = -1,	/* its process has ended, or broke the protocol: `guest_reason` */
	GUEST_SILENT = -2,	/* it has not answered for as long as the patience is */
	GUEST_RESTLESS = -3,	/* it asked to run at the same moment again and again */
	GUEST_INTERRUPTED = -4, /* a signal came: handle it, then `guest_go_on`, which also lets a new guest boot */
};

/* A frame that the guest has sent, without its Ethernet header. */
struct frame {
	uint32_t card, ether_type, offset, length;
};

struct guest *guest_new(int directory, uint32_t cards, uint64_t begin_ns, int patience_ms);
int guest_start(struct guest *g, int program, char *const arguments[], char *const environment[], int console);
int guest_run(struct guest *g, uint64_t now_ns);
int guest_go_on(struct guest *g);
uint64_t guest_next(const struct guest *g);
int guest_inject(struct guest *g, uint32_t card, const uint8_t *packet, uint32_t length);
const struct frame *guest_frames(const struct guest *g, uint32_t *count);
const uint8_t *guest_data(const struct guest *g);
const char *guest_reason(const struct guest *g);
void guest_free(struct guest *g);
