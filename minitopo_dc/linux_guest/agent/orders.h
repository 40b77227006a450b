/* What the agent is to do: the file /orders. orders.py fills it in; what it leaves out is 0. Times are ns. */

#define CLIENTS 250 /* cards of the client: as many legs as there can be */
#define FLIGHTS 8
#define SETTINGS 64

enum action { ADD_ENDPOINT, DELETE_ENDPOINT, DELETE_INITIAL, SET_BACKUP, SET_AVAILABLE };

/* A change of the client's MPTCP endpoints; its identifier is the number of the card. */
struct change {
	int64_t at; /* before the connection begins: 0 */
	int32_t action, card;
};

/* Bodies of content between what HTTP/2 and TLS add (orders.c). */
struct shape {
	int64_t head;  /* bytes before a body */
	int64_t body;  /* bytes of content */
	int64_t block; /* content between two frames */
	int64_t frame; /* bytes that stand before each block: a frame's headers, and its TLS records */
};

/* A kernel setting of both hosts: a file of /proc/sys. */
struct setting {
	char file[160], value[160];
};

struct orders {
	struct sockaddr_storage server, client[CLIENTS + 1]; /* by their cards */
	struct sockaddr_storage proxy; /* at which the client's connection ends, with the card behind the client's */
	int64_t begin; /* when the client begins to connect */
	int64_t sample; /* how often the server, or the proxy, reports of the connection */
	int64_t duration; /* of a download, how long it lasts at most; 0: to its end */
	int64_t count, interval; /* of requests; a download is one */
	int64_t patience; /* after the last request; with programs: with the server, once told to end */
	int64_t flight[FLIGHTS][2]; /* bytes of the handshake: the client's, the server's answer */
	struct shape request, answer;
	int64_t attempt_delay;
	int32_t attempts, attempt[CLIENTS]; /* cards to connect from while nothing has answered, behind the first */
	int32_t multipath; /* MPTCP, not TCP; of programs: what of them is MPTCP has further subflows */
	int32_t subflows; /* how many the kernels allow beside the first */
	int32_t clients, first, client_port; /* the card of the connection's beginning; its port there, 0: any */
	int32_t flights, settings, changes;
	int32_t earlier; /* downloads before the one that is measured, each over a connection of its own */
	int32_t mss; /* the server sends no larger segments, with their options; 0: as the link allows */
	int32_t is_download;
	int32_t programs, ready_port; /* whether both ends are programs; what the server binds when ready, 0: unknown */
	int32_t stop_signal; /* which tells a program to end */
	char congestion_control[64]; /* the server's; of programs both hosts', empty for the kernel's own */
	struct setting setting[SETTINGS];
	struct change change[]; /* in the order in which they are made */
};
