/* Picoquic's random numbers from a seed. */
#include "endpoint.h"

/* A generator of the project's, so that a run can be repeated: splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t random_state;

static void seeded_random(void *buffer, size_t length)
{
    uint8_t *bytes = buffer;

    for (size_t i = 0; i < length; i++) {
        uint64_t mixed = random_state += 0x9E3779B97F4A7C15ull;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
        bytes[i] = (uint8_t)((mixed ^ (mixed >> 31)) >> 56);
    }
}

/* All randomness of this process from now on comes from a seed. Its connections are then open to
 * anybody: for simulations. */
int mdc_seed(uint64_t seed)
{
    picoquic_tls_api_init();
    random_state = seed;
    picoquic_register_crypto_random_provider_fn(seeded_random);
    picoquic_public_random_seed_64(seed, 1);
    return 0;
}
