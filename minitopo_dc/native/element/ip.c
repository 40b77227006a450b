#include "element.h"

#include <string.h>

#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define MAX_LENGTH 65535
#define HOP_BY_HOP 0

static int word(const uint8_t *at)
{
    return at[0] << 8 | at[1];
}

static void put_word(uint8_t *at, int value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* The length of a whole datagram, before whose payload are `header` bytes: of IPv6 all that the length field does not
 * count. -1: it is none, or a jumbogram. */
static int total_length(const uint8_t *ip, int length, int *header)
{
    int v6 = length > 0 && ip_is_v6(ip), total;

    if (length < (v6 ? IPV6_HEADER : IPV4_HEADER) || !(v6 || ip[0] >> 4 == 4))
        return -1;
    *header = v6 ? IPV6_HEADER : (ip[0] & 0x0f) * 4;
    total = v6 ? IPV6_HEADER + word(ip + 4) : word(ip + 2);
    if (v6 && total == IPV6_HEADER && ip[6] == HOP_BY_HOP)
        return -1;
    return *header >= IPV4_HEADER && *header <= total && total <= length ? total : -1;
}

/* The checksum by RFC 1624, equation 4, modulo 0xFFFF (see the twin). */
void ip_set_total(uint8_t *ip, int total, int growth)
{
    if (ip_is_v6(ip)) {
        put_word(ip + 4, total - IPV6_HEADER);
        return;
    }
    put_word(ip + 2, total);
    put_word(ip + 10, (word(ip + 10) + 0xffff - growth) % 0xffff);
}

int ip_append_room(uint8_t *ip, int length, int size)
{
    int header, total = total_length(ip, length, &header);

    if (total < 0 || total + size > MAX_LENGTH + (ip_is_v6(ip) ? IPV6_HEADER : 0))
        return -1;
    ip_set_total(ip, total + size, size);
    memset(ip + total, 0, (size_t)size);
    return total + size;
}

int ip_split_trailer(uint8_t *ip, int length, int size)
{
    int header, total = total_length(ip, length, &header);

    if (total < 0 || total - size < header)
        return -1;
    ip_set_total(ip, total - size, -size);
    return total - size;
}

int ip_size_on_leg(const uint8_t *ip, int length)
{
    if (length < 1 || length < (ip[0] < IPV6_FIRST ? IPV4_HEADER : IPV6_HEADER))
        return -1;
    if (ip[0] >= IPV6_FIRST)
        return word(ip + 4) || ip[6] ? IPV6_HEADER + word(ip + 4) : -1;
    return word(ip + 2) < IPV4_HEADER ? -1 : word(ip + 2);
}

int ip_ecn(const uint8_t *ip)
{
    return ip[1] >> (ip_is_v6(ip) ? 4 : 0) & CE;
}

void ip_mark(uint8_t *ip)
{
    int growth = CE - ip_ecn(ip);

    ip[1] |= (uint8_t)(ip_is_v6(ip) ? CE << 4 : CE);
    if (!ip_is_v6(ip))
        put_word(ip + 10, (word(ip + 10) + 0xffff - growth) % 0xffff);
}

/* PDCP headers. */

int sn_bytes(int sn_bits)
{
    return sn_bits == 18 ? 3 : 2;
}

void sn_put(uint8_t *at, int sn_bits, int64_t sn)
{
    int size = sn_bytes(sn_bits);

    for (int i = 0; i < size; i++)
        at[i] = (uint8_t)(sn >> 8 * (size - 1 - i));
    if (sn_bits != 16)
        at[0] |= 0x80; /* a data PDU */
}

int64_t sn_get(const uint8_t *at, int sn_bits)
{
    int64_t found = 0;

    for (int i = 0; i < sn_bytes(sn_bits); i++)
        found = found << 8 | at[i];
    if (sn_bits != 16)
        found ^= INT64_C(0x80) << 8 * (sn_bytes(sn_bits) - 1);
    return found >> sn_bits ? -1 : found;
}

/* Options of IPv4. */

enum { END = 0, NO_OPERATION = 1, RECORD_ROUTE = 7, TIMESTAMP = 68, LOOSE_ROUTE = 131, CIPSO = 134, STRICT_ROUTE = 137, ROUTER_ALERT = 148 };
enum { ADDRESS = 4, WITH_ADDRESS = 1, PRESPECIFIED = 3 };

static int has_room(const uint8_t *option, int length, int size)
{
    return option[2] > length || option[2] + size - 1 <= length;
}

static int is_timestamp(const uint8_t *option, int length)
{
    int flag;

    if (length < 4 || option[2] < 5)
        return 0;
    flag = option[3] & 0x0f;
    if (option[2] > length)
        return flag == PRESPECIFIED || option[3] >> 4 < 15;
    return has_room(option, length, flag == WITH_ADDRESS || flag == PRESPECIFIED ? 2 * ADDRESS : ADDRESS);
}

static int is_good(const uint8_t *option, int length)
{
    switch (option[0]) {
    case LOOSE_ROUTE:
    case CIPSO:
    case STRICT_ROUTE:
        return 0;
    case RECORD_ROUTE:
        return length >= 3 && option[2] >= 4 && has_room(option, length, ADDRESS);
    case TIMESTAMP:
        return is_timestamp(option, length);
    case ROUTER_ALERT:
        return length >= 4;
    default:
        return 1;
    }
}

int ip_may_be_forwarded(const uint8_t *ip)
{
    const uint8_t *option = ip + IPV4_HEADER, *end = ip + (ip[0] & 0x0f) * 4;
    int routes = 0, timestamps = 0;

    if (ip[0] < 0x46 || ip[0] > 0x4f)
        return 1;
    while (option < end && option[0] != END) {
        int length;

        if (option[0] == NO_OPERATION) {
            option++;
            continue;
        }
        length = end - option > 1 ? option[1] : 0;
        if (length < 2 || length > end - option || !is_good(option, length))
            return 0;
        routes += option[0] == RECORD_ROUTE;
        timestamps += option[0] == TIMESTAMP;
        if (routes > 1 || timestamps > 1)
            return 0;
        option += length;
    }
    return 1;
}

int ip_prepare_sdu(uint8_t *ip, int *length, int size)
{
    int grown;

    if (*length < 1 || *length <= ip_ttl_offset(ip))
        return SDU_MALFORMED;
    if (ip[ip_ttl_offset(ip)] < 2)
        return SDU_HANDED_BACK;
    grown = ip_append_room(ip, *length, size);
    if (grown < 0)
        return SDU_MALFORMED;
    if (!ip_may_be_forwarded(ip))
        return SDU_REFUSED_OPTIONS;
    *length = grown;
    return SDU_TAKEN;
}
