/* What Python needs of this project's code around picoquic, beside stack.h: schedulers of paths, and CUBIC.
 * cffi reads this file too. */

/* A path that the next packet may take; sizes in bytes. */
typedef struct {
    int place; /* of its leg, from 0 */
    int has_room;
    int is_behind; /* of the redundant scheduler: others have sent what it has not */
    uint64_t cwnd;
    uint64_t in_flight;
    uint64_t segment;
    uint64_t smoothed_rtt_us;
    uint64_t rtt_variation_us;
    uint64_t packets_sent;
} mdc_candidate;

/* A user's scheduler: the place among the paths of the one that the packet takes; below 0: it has failed. */
typedef int (*mdc_chooser)(const mdc_candidate *paths, int count, uint64_t now);

/* A path's CUBIC (RFC 9438), in segments and seconds. */
typedef struct {
    double window;
    double threshold; /* of slow start */
    double w_max;
    double k;
    double w_est;
    double prior;     /* the window before the last congestion event */
    double epoch;     /* when congestion avoidance began; below 0: it is about to */
} mdc_cubic;

void mdc_set_chooser(mdc_endpoint *endpoint, mdc_chooser choose); /* of MDC_PLUGIN */
int mdc_choose(mdc_scheduler *scheduler, const mdc_candidate *paths, int count, uint64_t unsent, uint64_t window);
void mdc_count_sent(mdc_scheduler *scheduler, int place);
void mdc_cubic_begin(mdc_cubic *cubic, double window);
double mdc_cubic_window(const mdc_cubic *cubic, double t);
void mdc_cubic_acknowledged(mdc_cubic *cubic, double segments, double round_trip, double now);
void mdc_cubic_lost(mdc_cubic *cubic);
void mdc_cubic_collapsed(mdc_cubic *cubic);
