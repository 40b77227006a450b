#include "asked.h"

#include "view.h"

int asked_legs(asked *self, const transmit *shown, int64_t now, int size, int *answer)
{
    if (self->shown != NULL)
        for (int leg = 0; leg < shown->legs; leg++)
            view_show(shown, leg, &self->shown[leg]);
    return self->ask(self->policy, now, size, answer);
}
