/* Memory that is there, and queues in it. Who gets none ends at once: nothing is left to simulate with. */
#ifndef MINITOPO_MEMORY_H
#define MINITOPO_MEMORY_H

#include <stdint.h>
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

/* A queue of values that grows: DEFINE_RING(name, type) makes the type `name` and its functions. */
#define DEFINE_RING(name, type)                                                                    \
    typedef struct {                                                                               \
        type *values;                                                                              \
        uint64_t head, tail, room; /* room: 0 or a power of two */                                 \
    } name;                                                                                        \
    static inline uint64_t name##_count(const name *ring)                                          \
    {                                                                                              \
        return ring->tail - ring->head;                                                            \
    }                                                                                              \
    static inline type *name##_at(const name *ring, uint64_t index)                                \
    {                                                                                              \
        return &ring->values[(ring->head + index) & (ring->room - 1)];                             \
    }                                                                                              \
    static inline type *name##_last(const name *ring)                                              \
    {                                                                                              \
        return &ring->values[(ring->tail - 1) & (ring->room - 1)];                                 \
    }                                                                                              \
    static inline void name##_grow(name *ring)                                                     \
    {                                                                                              \
        uint64_t count = name##_count(ring), room = ring->room ? 2 * ring->room : 16;              \
        type *values = resized(NULL, room, sizeof(type));                                          \
                                                                                                   \
        for (uint64_t index = 0; index < count; index++)                                           \
            values[index] = *name##_at(ring, index);                                               \
        free(ring->values);                                                                        \
        *ring = (name){values, 0, count, room};                                                    \
    }                                                                                              \
    static inline void name##_push(name *ring, type value)                                         \
    {                                                                                              \
        if (name##_count(ring) == ring->room)                                                      \
            name##_grow(ring);                                                                     \
        ring->values[ring->tail++ & (ring->room - 1)] = value;                                     \
    }                                                                                              \
    static inline type name##_pop(name *ring)                                                      \
    {                                                                                              \
        return ring->values[ring->head++ & (ring->room - 1)];                                      \
    }                                                                                              \
    static inline type name##_pop_last(name *ring)                                                 \
    {                                                                                              \
        return ring->values[--ring->tail & (ring->room - 1)];                                      \
    }                                                                                              \
    static inline void name##_clear(name *ring)                                                    \
    {                                                                                              \
        ring->head = ring->tail = 0;                                                               \
    }                                                                                              \
    static inline void name##_free(name *ring)                                                     \
    {                                                                                              \
        free(ring->values);                                                                        \
        *ring = (name){NULL, 0, 0, 0};                                                             \
    }

#endif
