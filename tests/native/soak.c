/* PDUs through the receiving entity: soak COUNT SEED. Half of the entities get PDUs that a transmitter could have
 * sent, reordered, lost and doubled, and what they deliver is checked; the others get any SN at any time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "native.h"

#define FOR_EACH_ENTITY 1000000
#define AIR 32 /* PDUs on their way at most, so that none is displaced by half of the shortest space of SNs */

static uint64_t state;

static uint64_t any(void) /* xorshift64* (Vigna, ACM TOMS 42, 2016) */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(2685821657736338717);
}

static int64_t below(int64_t limit)
{
    return (int64_t)(any() % (uint64_t)limit);
}

static void check(int holds, const char *rule)
{
    if (holds)
        return;
    fprintf(stderr, "soak: broken: %s\n", rule);
    exit(1);
}

typedef struct {
    receive *entity;
    int bits, legs, ordered;
    int64_t now, delivered, last;
} tried;

static tried begin(int is_hostile)
{
    static const int lengths[] = {12, 16, 18};
    static const int64_t timers[] = {0, 30000, INT64_C(3000000000), INT64_MAX, ADAPTIVE_T_REORDERING};
    tried made = {.bits = lengths[below(3)], .legs = 1 + (int)below(4), .last = -1};
    /* A longer t-Reordering would let half of the SNs pass by while a lost PDU is waited for. */
    int64_t timer = timers[is_hostile ? below(5) : 1];

    made.ordered = is_hostile ? (int)below(3) : DELIVERY_IN_ORDER;
    made.entity = receive_new(made.bits, timer, made.legs, made.ordered, is_hostile && below(2));
    return made;
}

static void poll_all(tried *of, int is_hostile)
{
    void *number;

    while (receive_poll(of->entity, of->now, &number)) {
        of->delivered++;
        check(is_hostile || (int64_t)(intptr_t)number > of->last, "SDUs in ascending order of COUNT, each once");
        of->last = (int64_t)(intptr_t)number;
    }
}

static void arrive(tried *of, int64_t count)
{
    int leg = (int)below(of->legs);
    int64_t sn = count & ((INT64_C(1) << of->bits) - 1);

    receive_note(of->entity, sn, (int)below(65536), leg);
    receive_push(of->entity, sn, count, (void *)(intptr_t)count, leg, of->now);
}

static void send_some(tried *of, int64_t pdus)
{
    int64_t air[AIR], count = 0;

    for (int i = 0; i < AIR; i++)
        air[i] = -1;
    for (int64_t done = 0; done < pdus; done++) {
        int64_t *place = &air[below(AIR)];

        of->now += below(2000);
        if (*place >= 0) {
            arrive(of, *place);
            if (!below(100))
                arrive(of, *place);
        }
        *place = below(100) ? count : -1;
        count++;
        poll_all(of, 0);
    }
}

static void send_anything(tried *of, int64_t pdus)
{
    int64_t count = 0;

    for (int64_t done = 0; done < pdus; done++) {
        of->now += below(10) ? below(2000) : below(INT64_C(1) << 32);
        count += below(20) ? 1 - below(3) : below(INT64_C(1) << 18);
        arrive(of, count);
        if (below(3))
            poll_all(of, 1);
    }
}

static void end(tried *of, int is_hostile)
{
    receive_counters found;
    reception seen[MAX_LEGS];
    uint8_t bitmap[8999];
    int64_t pdus = 0;

    poll_all(of, is_hostile);
    receive_status(of->entity, bitmap, (int)sizeof(bitmap));
    receive_receptions(of->entity, seen);
    receive_count(of->entity, &found);
    for (int leg = 0; leg < of->legs; leg++)
        pdus += found.pdus[leg];
    check(pdus == of->delivered + found.duplicates + found.old + found.buffered, "each PDU is counted once");
    receive_free(of->entity);
}

int main(int words, char **word)
{
    int64_t left = words == 3 ? atoll(word[1]) : 0, delivered = 0, entities = 0;

    state = words == 3 ? (uint64_t)atoll(word[2]) * 2 + 1 : 1;
    for (; left > 0; left -= FOR_EACH_ENTITY, entities++) {
        int64_t pdus = left < FOR_EACH_ENTITY ? left : FOR_EACH_ENTITY;
        int is_hostile = (int)(entities & 1);
        tried entity = begin(is_hostile);

        (is_hostile ? send_anything : send_some)(&entity, pdus);
        end(&entity, is_hostile);
        delivered += entity.delivered;
    }
    printf("%lld entities, %lld SDUs delivered\n", (long long)entities, (long long)delivered);
    return 0;
}
