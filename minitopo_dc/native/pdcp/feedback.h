/* What a transmitting entity makes of the receiver's reports: the twin of pdcp/transmitting/feedback.py. */
#ifndef MINITOPO_FEEDBACK_H
#define MINITOPO_FEEDBACK_H

#include <stdint.h>

#include "../base/memory.h"
#include "../base/declared.h"

DEFINE_RING(count_ring, int64_t)

typedef struct {
    int64_t next_count, covered;
    count_ring waiting;
} sent_counts;

typedef struct {
    int legs, has_report;
    int64_t number, at;
    sent_counts sent[MAX_LEGS];
    leg_report reports[MAX_LEGS];
} feedback;

enum { REPORT_TAKEN, REPORT_STALE, REPORT_IMPOSSIBLE };

void feedback_sent(feedback *self, int leg, int64_t count);
int feedback_take(feedback *self, int64_t number, const reception *legs, int64_t now);
int64_t feedback_next_count(const feedback *self);
void feedback_end(feedback *self);

#endif
