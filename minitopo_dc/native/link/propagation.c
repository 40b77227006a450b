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

void propagation_put(propagation *self, int64_t arrival, int size, carried what)
{
    uint64_t place = sent_ring_count(&self->line);

    sent_ring_push(&self->line, (sent){0});
    for (; self->overtakes && place && sent_ring_at(&self->line, place - 1)->arrival > arrival; place--)
        *sent_ring_at(&self->line, place) = *sent_ring_at(&self->line, place - 1);
    *sent_ring_at(&self->line, place) = (sent){arrival, size, what};
}

int64_t propagation_first(const propagation *self)
{
    return sent_ring_count(&self->line) ? sent_ring_at(&self->line, 0)->arrival : NEVER;
}

int propagation_take(propagation *self, int64_t now, carried *what)
{
    sent first;

    if (!sent_ring_count(&self->line) || sent_ring_at(&self->line, 0)->arrival > now)
        return 0;
    first = sent_ring_pop(&self->line);
    self->taken_packets++;
    self->taken_bytes += first.size;
    *what = first.what;
    return 1;
}
