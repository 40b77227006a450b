/* Packets through both directions of a leg of the native core, and nothing else: the CPU time of each.
 *
 * legs PACKETS GAP_NS RATE_DOWN RATE_UP ERROR [RLC_DOWN RLC_UP]: packets of 1,378 bytes go down each GAP_NS, and
 * one of 80 bytes goes up for every second that came. The files hold `rlc_parameters`; without them legs are plain. */
#include <time.h>

#include "link/link.h"

#define DELAY_NS 5000000
#define GRANT_NS 4500000
#define LASTS_NS (1000 * NS_PER_S)

static void read_parameters(const char *path, rlc_parameters *is)
{
    FILE *file = checked(fopen(path, "rb"));

    if (fread(is, sizeof(*is), 1, file) != 1)
        abort();
    fclose(file);
}

static leg *direction(const char *path, int64_t rate, double error)
{
    uint32_t state[RNG_WORDS] = {[RNG_WORDS - 1] = RNG_WORDS - 1};
    int64_t edges[] = {0, LASTS_NS};
    leg_parameters has = {.queue = {4096, INT64_MAX}, .mtu_bytes = INT64_MAX};
    rlc_parameters is;
    leg *made;

    for (int word = 0; word < RNG_WORDS - 1; word++)
        state[word] = (uint32_t)word * 2654435761u + 1;
    if (path != NULL)
        read_parameters(path, &is);
    has.grant_ns = path != NULL && is.sr_ns ? GRANT_NS : 0;
    made = leg_new(&has, state, state);
    if (path != NULL)
        leg_set_rlc(made, &is, state);
    leg_set_capacity(made, capacity_rates(edges, &rate, 1, AFTER_HOLD), 0);
    leg_set_delay(made, DELAY_CONSTANT, DELAY_NS, 0, 0);
    if (path != NULL)
        leg_set_block_error(made, error, 0, 0);
    return made;
}

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char **words)
{
    int64_t packets, gap, sent = 0, came = 0;
    const char *none = NULL;
    carried what;
    double begin;
    leg *down, *up;

    if (count != 6 && count != 8)
        return 2;
    packets = atoll(words[1]);
    gap = atoll(words[2]);
    down = direction(count == 8 ? words[6] : none, atoll(words[3]), atof(words[5]));
    up = direction(count == 8 ? words[7] : none, atoll(words[4]), atof(words[5]));
    leg_pair(down, up);
    leg_pair(up, down);
    leg_start(down, 0);
    leg_start(up, 0);
    begin = cpu_ns();
    for (;;) {
        int64_t next = sent < packets ? sent * gap : NEVER;
        int64_t now = earlier(next, earlier(leg_next_timeout(down), leg_next_timeout(up)));

        if (now == NEVER)
            break;
        if (now == next)
            leg_push(down, &(carried){(void *)(uintptr_t)++sent, -1}, 1378, now);
        while (leg_next_timeout(down) <= now && leg_poll(down, now, &what))
            if (++came % 2 == 0)
                leg_push(up, &what, 80, now);
        while (leg_next_timeout(up) <= now && leg_poll(up, now, &what))
            continue;
    }
    printf("%.2f\n", (cpu_ns() - begin) / (double)packets);
    return came != packets;
}
