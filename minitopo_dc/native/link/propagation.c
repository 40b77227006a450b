#include "link.h"

int64_t delay_sample(const delay_model *model, rng *random)
{
    int64_t delay;

    switch (model->kind) {
    case DELAY_NORMAL:
        delay = (int64_t)rng_gauss(random, (double)model->a, (double)model->b);
        return delay > 0 ? delay : 0;
    case DELAY_UNIFORM:
        return model->a + (int64_t)(rng_random(random) * (double)(model->b - model->a + 1));
    default:
        return model->a;
    }
}

int64_t delay_mean(const delay_model *model)
{
    return model->kind == DELAY_UNIFORM ? floor_div(model->a + model->b, 2) : model->a;
}

static int gilbert_elliott(loss_model *model, rng *random)
{
    double arrives = model->bad ? model->h : model->k;
    double change = model->bad ? model->r : model->p;
    int lost = rng_random(random) >= arrives;

    if (rng_random(random) < change)
        model->bad = !model->bad;
    return lost;
}

/* Whether the next packet is lost. */
int loss_next(loss_model *model, rng *random)
{
    switch (model->kind) {
    case LOSS_BERNOULLI:
        return rng_random(random) < model->p;
    case LOSS_GILBERT_ELLIOTT:
        return gilbert_elliott(model, random);
    default:
        return 0;
    }
}

static int is_before(const sent *a, const sent *b)
{
    return a->arrival < b->arrival || (a->arrival == b->arrival && a->number < b->number);
}

static void sift_up(sent *heap, uint64_t index)
{
    sent moved = heap[index];

    while (index > 0 && is_before(&moved, &heap[(index - 1) / 2])) {
        heap[index] = heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    heap[index] = moved;
}

static void sift_down(sent *heap, uint64_t count)
{
    sent moved = heap[0];
    uint64_t index = 0, child;

    while ((child = 2 * index + 1) < count) {
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &moved))
            break;
        heap[index] = heap[child];
        index = child;
    }
    heap[index] = moved;
}

void propagation_put(propagation *self, int64_t arrival, int size, carried what)
{
    sent_ring_push(&self->line, (sent){arrival, ++self->number, size, what});
    if (self->overtakes)
        sift_up(self->line.values, sent_ring_count(&self->line) - 1);
}

int64_t propagation_first(const propagation *self)
{
    return sent_ring_count(&self->line) ? sent_ring_at(&self->line, 0)->arrival : NEVER;
}

static sent pop(propagation *self)
{
    sent first, last;

    if (!self->overtakes)
        return sent_ring_pop(&self->line);
    first = self->line.values[0];
    last = sent_ring_pop_last(&self->line);
    if (sent_ring_count(&self->line)) {
        self->line.values[0] = last;
        sift_down(self->line.values, sent_ring_count(&self->line));
    }
    return first;
}

int propagation_take(propagation *self, int64_t now, carried *what)
{
    sent first;

    if (!sent_ring_count(&self->line) || sent_ring_at(&self->line, 0)->arrival > now)
        return 0;
    first = pop(self);
    self->taken_packets++;
    self->taken_bytes += first.size;
    *what = first.what;
    return 1;
}
