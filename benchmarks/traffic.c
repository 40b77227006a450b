/* Traffic of the benchmark, one JSON line of results each:
 *   traffic send ADDRESS PORT RATE SECONDS IP_BYTES BURST
 *   traffic sink PORT SILENCE_MS
 *   traffic proxy PORT NEXT_ADDRESS NEXT_PORT
 * Sink and proxy print `ready` first. The proxy is a plain one, as one writes it first: epoll, and one datagram a
 * call in each direction; answers go to who sent last. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
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

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } modes[] = {{"send", 6, send_packets}, {"sink", 2, sink}, {"proxy", 3, proxy}};

    prctl(PR_SET_TIMERSLACK, 1);
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        if (count == modes[i].words + 2 && strcmp(words[1], modes[i].name) == 0)
            return modes[i].run(words + 2);
    fputs("traffic: wrong arguments\n", stderr);
    return 2;
}
