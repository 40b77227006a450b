/* Waiting for packets and moments: the twin of real/element/loop.py, which has the rules. It goes back to
 * Python when something there is to be read, is due, or got a signal. */
#include "element.h"

#include <errno.h>
#include <time.h>

#define IDLE_NS NS_PER_S
#define LEAD_STEP_NS 5000
#define MAX_LEAD_NS 150000
#define SLEPT_PER_POLLED 4
#define STALL_NS 5000000
#define READS 2 /* of BATCH messages before others get a turn */

static int64_t clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void element_watch(element *self, int descriptor)
{
    if (self->watched_count < MAX_WATCHED)
        self->watched[self->watched_count++] = (struct pollfd){.fd = descriptor, .events = POLLIN};
    else
        element_fail(self, ENOSPC, -1);
}

const loop_counters *element_loop_counters(const element *self)
{
    return &self->counted;
}

static void count_stall(loop_counters *counted, int64_t now, int64_t late)
{
    if (late < STALL_NS || counted->stalls == MAX_STALLS)
        return;
    counted->stalled_at[counted->stalls] = now;
    counted->stalled_for[counted->stalls++] = late;
}

void element_serve(element *self, int64_t now)
{
    int64_t due = earlier(self->python_due, now + IDLE_NS), latest = 0;

    self->router.now = now;
    for (timer *part = self->router.timers; part != NULL; part = part->next) {
        int64_t moment = part->at;

        if (moment <= now) {
            self->counted.lateness[bits_of(now - moment)]++;
            latest = later(latest, now - moment);
            part->at = NEVER;
            part->fire(part->owner);
        }
        due = earlier(due, part->at);
    }
    count_stall(&self->counted, now, latest);
    self->due = due;
    self->served = now;
}

void element_python_due(element *self, int64_t moment)
{
    self->python_due = moment;
    self->due = earlier(self->due, moment);
}

static void learn(element *self, int64_t late)
{
    self->lead += late > self->lead ? LEAD_STEP_NS : -LEAD_STEP_NS;
    self->lead = earlier(later(self->lead, 0), MAX_LEAD_NS);
}

/* How many descriptors can be read; -1: a signal came, or waiting is not possible. */
static int wait_for(element *self, int64_t now)
{
    int64_t alarm = self->due - earlier(self->lead, (self->due - self->served) / SLEPT_PER_POLLED);
    int64_t sleep = later(0, alarm - now);
    struct timespec longest = {sleep / NS_PER_S, sleep % NS_PER_S};
    int found = ppoll(self->watched, (nfds_t)self->watched_count, &longest, NULL);

    if (found < 0 && errno != EINTR)
        element_fail(self, errno, -1);
    if (found == 0 && sleep > 0)
        learn(self, clock_now() - alarm);
    return found;
}

/* Verdicts first, then what may take longer. */
static void finish_turn(element *self)
{
    element_flush(self);
    captures_write(self);
}

static void read_packets(element *self)
{
    for (int i = 0; i < READS; i++) {
        int64_t now = clock_now();
        int found;

        if (now >= self->due)
            element_serve(self, now);
        found = element_read(self, now);
        finish_turn(self);
        if (found < BATCH)
            return;
    }
}

int element_run(element *self, int *ready, int room)
{
    int count = 0;

    while (!self->error) {
        int64_t now = clock_now();
        int found;

        if (now >= self->due) {
            element_serve(self, now);
            finish_turn(self);
            if (self->python_due <= now)
                return 0;
            now = clock_now();
        }
        found = wait_for(self, now);
        if (found < 0)
            break;
        if (found && self->watched[0].revents) {
            read_packets(self);
            found--;
        }
        for (int i = 1; found && i < self->watched_count && count < room; i++)
            if (self->watched[i].revents)
                ready[count++] = self->watched[i].fd;
        if (count)
            return count;
    }
    return self->error ? -self->error : 0;
}
