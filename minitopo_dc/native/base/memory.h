/* Memory that is there: who gets none ends at once, as there is nothing left to simulate with. */
#ifndef MINITOPO_MEMORY_H
#define MINITOPO_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *checked(void *got)
{
    if (got == NULL) {
        fputs("minitopo-dc: the native core got no memory\n", stderr);
        abort();
    }
    return got;
}

static inline void *zeroed(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size));
}

static inline void *resized(void *old, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return checked(NULL);
    return checked(realloc(old, count * size));
}

#endif
