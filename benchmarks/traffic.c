/* Traffic of the benchmark, one JSON line of results each:
 *   traffic send ADDRESS PORT RATE SECONDS IP_BYTES BURST
 *   traffic sink PORT SILENCE_MS
 *   traffic proxy PORT NEXT_ADDRESS NEXT_PORT
 *   traffic queue NUMBER WHOLE
 * All but the first print `ready` first. The proxy is a plain one, as one writes it first: epoll, and one datagram a
 * call in each direction; answers go to who sent last. The queue is an element without anything of an element:
 * the system calls by which packets of an NFQUEUE come, many in a call, and go again with the bytes that they
 * have. Where WHOLE is 1, segments of one `send` come and go as one packet, whose bytes stay in the kernel. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define HEADERS 28 /* of IPv4 and UDP */
#define BATCH 64
#define LONGEST 2048
#define MAX_DELAYS (1 << 22)
#define NS INT64_C(1000000000)
#define BEFORE_DUE_NS 60000 /* shorter waits than the kernel keeps are spent in the loop */

typedef struct {
    int64_t number, sent;
} stamp;

static int64_t clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

static void sleep_ns(int64_t duration)
{
    struct timespec wait = {duration / NS, duration % NS};

    nanosleep(&wait, NULL);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static struct sockaddr_in address_of(const char *ip, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

    if (inet_pton(AF_INET, ip, &address.sin_addr) != 1)
        fail(ip);
    return address;
}

static int opened(const char *ip, const char *port, int bytes)
{
    int made = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = address_of(ip, port);

    setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
    if (strcmp(ip, "0.0.0.0") == 0 ? bind(made, (void *)&address, sizeof(address))
                                   : connect(made, (void *)&address, sizeof(address)))
        fail("socket");
    return made;
}

static int send_packets(char **words)
{
    int to = opened(words[0], words[1], 64 << 20), size = atoi(words[4]) - HEADERS, burst = atoi(words[5]);
    double gap_ns = 1e9 / atof(words[2]);
    int64_t total = (int64_t)(atof(words[2]) * atof(words[3])), begin = clock_now();
    static char bytes[65536];

    if (burst > 1 && setsockopt(to, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)))
        fail("UDP_SEGMENT");
    for (int64_t done = 0; done < total;) {
        int64_t count = total - done < burst ? total - done : burst;
        int64_t due = begin + (int64_t)((double)done * gap_ns), now;

        while ((now = clock_now()) < due)
            if (due - now > BEFORE_DUE_NS)
                sleep_ns(due - now - BEFORE_DUE_NS / 2);
        for (int i = 0; i < count; i++)
            memcpy(bytes + i * size, &(stamp){done + i, now}, sizeof(stamp));
        if (send(to, bytes, (size_t)(count * size), 0) >= 0)
            done += count;
        else if (errno != ENOBUFS && errno != ECONNREFUSED)
            fail("send");
    }
    printf("{\"seconds\": %.3f}\n", (double)(clock_now() - begin) / 1e9);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int sink(char **words)
{
    int from = opened("0.0.0.0", words[0], 512 << 20);
    struct pollfd waits = {.fd = from, .events = POLLIN};
    static char bytes[BATCH][LONGEST];
    struct mmsghdr messages[BATCH] = {0};
    struct iovec pieces[BATCH];
    int64_t count = 0, next = 0, disordered = 0;
    int64_t *delays = malloc(MAX_DELAYS * sizeof(*delays));

    for (int i = 0; i < BATCH; i++) {
        pieces[i] = (struct iovec){bytes[i], LONGEST};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
    }
    puts("ready");
    fflush(stdout);
    while (poll(&waits, 1, count ? atoi(words[1]) : 20000) > 0) {
        int got = recvmmsg(from, messages, BATCH, MSG_DONTWAIT, NULL);
        int64_t now = clock_now();

        for (int i = 0; i < got; i++) {
            stamp stamped;

            memcpy(&stamped, bytes[i], sizeof(stamped));
            disordered += stamped.number < next;
            next = stamped.number >= next ? stamped.number + 1 : next;
            if (count < MAX_DELAYS)
                delays[count] = now - stamped.sent;
            count++;
        }
    }
    printf("{\"received\": %lld, \"disordered\": %lld, ", (long long)count, (long long)disordered);
    count = count < MAX_DELAYS ? count : MAX_DELAYS;
    qsort(delays, (size_t)count, sizeof(*delays), by_value);
    printf("\"median_us\": %.1f, \"p99_us\": %.1f}\n", count ? (double)delays[count / 2] / 1e3 : 0,
           count ? (double)delays[count * 99 / 100] / 1e3 : 0);
    return 0;
}

static void watch(int poll, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

    if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event))
        fail("epoll");
}

static int proxy(char **words)
{
    int near = opened("0.0.0.0", words[0], 256 << 20), far = opened(words[1], words[2], 256 << 20);
    int poll = epoll_create1(0);
    struct sockaddr_in last = {0};
    static char bytes[65536];

    watch(poll, near);
    watch(poll, far);
    puts("ready");
    fflush(stdout);
    for (int count = 0; count >= 0;) {
        struct epoll_event events[2];

        count = epoll_wait(poll, events, 2, -1);
        for (int i = 0; i < count; i++) {
            socklen_t length = sizeof(last);
            int is_request = events[i].data.fd == near;
            ssize_t size = is_request ? recvfrom(near, bytes, sizeof(bytes), MSG_DONTWAIT, (void *)&last, &length)
                                      : recv(far, bytes, sizeof(bytes), MSG_DONTWAIT);

            if (size >= 0 && is_request)
                send(far, bytes, (size_t)size, MSG_DONTWAIT);
            else if (size >= 0)
                sendto(near, bytes, (size_t)size, MSG_DONTWAIT, (void *)&last, sizeof(last));
        }
    }
    return 1;
}

#define LONGEST_MESSAGE (66 << 10) /* of a packet of 64 KiB */
#define LONGEST_VERDICT 128        /* without a payload */

/* One message of netlink, to which attributes are added. */
typedef struct {
    struct nlmsghdr header;
    struct nfgenmsg family;
    uint8_t attributes[];
} message;

static message *begin_message(uint8_t *at, int type, int number)
{
    message *made = (message *)at;

    made->header = (struct nlmsghdr){.nlmsg_len = sizeof(message),
                                     .nlmsg_type = (uint16_t)(NFNL_SUBSYS_QUEUE << 8 | type),
                                     .nlmsg_flags = NLM_F_REQUEST};
    made->family = (struct nfgenmsg){AF_UNSPEC, NFNETLINK_V0, htons((uint16_t)number)};
    return made;
}

static void add(message *to, int type, const void *value, size_t size)
{
    struct nlattr *at = (struct nlattr *)((uint8_t *)to + to->header.nlmsg_len);

    *at = (struct nlattr){(uint16_t)(sizeof(*at) + size), (uint16_t)type};
    memcpy(at + 1, value, size);
    to->header.nlmsg_len += (uint32_t)(sizeof(*at) + NLA_ALIGN(size));
}

static void configure(int netlink, message *asked)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr says;
    } answer;

    asked->header.nlmsg_flags |= NLM_F_ACK;
    if (send(netlink, asked, asked->header.nlmsg_len, 0) < 0 || recv(netlink, &answer, sizeof(answer), 0) < 0)
        fail("netlink");
    errno = -answer.says.error;
    if (errno)
        fail("NFQUEUE");
}

static int open_queue(int number, int whole)
{
    int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER), one = 1, bytes = 256 << 20;
    struct nfqnl_msg_config_cmd bind = {NFQNL_CFG_CMD_BIND, 0, 0};
    struct nfqnl_msg_config_params copies = {htonl(0xffff), whole ? NFQNL_COPY_META : NFQNL_COPY_PACKET};
    uint32_t most = htonl(1 << 20), flag = htonl(NFQA_CFG_F_GSO);
    _Alignas(8) uint8_t room[LONGEST_VERDICT];
    message *asked = begin_message(room, NFQNL_MSG_CONFIG, number);

    if (netlink < 0)
        fail("netlink");
    setsockopt(netlink, SOL_NETLINK, NETLINK_NO_ENOBUFS, &one, sizeof(one));
    setsockopt(netlink, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    add(asked, NFQA_CFG_CMD, &bind, sizeof(bind));
    configure(netlink, asked);
    asked = begin_message(room, NFQNL_MSG_CONFIG, number);
    add(asked, NFQA_CFG_PARAMS, &copies, sizeof(copies));
    add(asked, NFQA_CFG_QUEUE_MAXLEN, &most, sizeof(most));
    if (whole) {
        add(asked, NFQA_CFG_FLAGS, &flag, sizeof(flag));
        add(asked, NFQA_CFG_MASK, &flag, sizeof(flag));
    }
    configure(netlink, asked);
    return netlink;
}

/* Put the verdict on a packet at `out`; return its length. */
static size_t answer_to(const uint8_t *packet, int number, int whole, uint8_t *out)
{
    const message *told = (const message *)packet;
    message *made = begin_message(out, NFQNL_MSG_VERDICT, number);
    const uint8_t *end = packet + told->header.nlmsg_len;

    for (const uint8_t *at = told->attributes; at < end;) {
        const struct nlattr *attribute = (const struct nlattr *)at;
        const uint8_t *value = at + sizeof(*attribute);

        if ((attribute->nla_type & NLA_TYPE_MASK) == NFQA_PACKET_HDR) {
            const struct nfqnl_msg_packet_hdr *of = (const void *)value;
            struct nfqnl_msg_verdict_hdr says = {htonl(NF_ACCEPT), of->packet_id};

            add(made, NFQA_VERDICT_HDR, &says, sizeof(says));
        } else if ((attribute->nla_type & NLA_TYPE_MASK) == NFQA_PAYLOAD && !whole) {
            add(made, NFQA_PAYLOAD, value, attribute->nla_len - sizeof(*attribute));
        }
        at += NLA_ALIGN(attribute->nla_len);
    }
    return NLMSG_ALIGN(made->header.nlmsg_len);
}

static int queue(char **words)
{
    int number = atoi(words[0]), whole = atoi(words[1]), netlink = open_queue(number, whole);
    struct pollfd waits = {.fd = netlink, .events = POLLIN};
    static _Alignas(8) uint8_t in[BATCH][LONGEST_MESSAGE], out[BATCH * (LONGEST + LONGEST_VERDICT)];
    struct mmsghdr messages[BATCH] = {0};
    struct iovec pieces[BATCH];

    for (int i = 0; i < BATCH; i++) {
        pieces[i] = (struct iovec){in[i], LONGEST_MESSAGE};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
    }
    puts("ready");
    fflush(stdout);
    while (poll(&waits, 1, -1) >= 0) {
        int got = recvmmsg(netlink, messages, BATCH, MSG_DONTWAIT, NULL);
        size_t used = 0;

        for (int i = 0; i < got; i++)
            used += answer_to(in[i], number, whole, out + used);
        if (used && send(netlink, out, used, 0) < 0)
            fail("verdicts");
    }
    return 1;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } modes[] = {{"send", 6, send_packets}, {"sink", 2, sink}, {"proxy", 3, proxy}, {"queue", 2, queue}};

    prctl(PR_SET_TIMERSLACK, 1);
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        if (count == modes[i].words + 2 && strcmp(words[1], modes[i].name) == 0)
            return modes[i].run(words + 2);
    fputs("traffic: wrong arguments\n", stderr);
    return 2;
}
