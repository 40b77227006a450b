/* IP datagrams that carry PDUs: twins of pdcp/formats/trailer.py and codec.py, element/ipv4_options.py and
 * what real/element/drivers.py checks. Nothing is read behind `length`. */
#ifndef MINITOPO_IP_H
#define MINITOPO_IP_H

#include <stdint.h>

#include "../base/declared.h"

/* From here on the first byte is IPv6's. */
#define IPV6_FIRST 0x60
#define TTL_OFFSET 8
#define HOP_LIMIT_OFFSET 7
#define SN_MAX_BYTES 3

/* Write the length of a datagram that grew by `growth`, and IPv4's checksum for it. */
void ip_set_total(uint8_t *ip, int total, int growth);

static inline int ip_is_v6(const uint8_t *ip)
{
    return ip[0] >> 4 == 6;
}

/* Where the TTL, or the hop limit, of a datagram is. */
static inline int ip_ttl_offset(const uint8_t *ip)
{
    return ip[0] < IPV6_FIRST ? TTL_OFFSET : HOP_LIMIT_OFFSET;
}

#endif
