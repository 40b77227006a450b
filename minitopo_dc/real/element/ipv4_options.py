"""The IPv4 options that a packet may have for a router to forward it.

The kernel checks options behind the queue that an element reads, and discards a packet whose
options it cannot read. If that packet had a number, the receiver would wait for it in vain. So the
same is checked here before: RFC 791, section 3.1, and RFC 1812, section 5.3.13, as Linux follows
them. A router also refuses source routes (RFC 7126, sections 4.3 and 4.4; Linux, unless configured
otherwise) and security labels of domains that it does not know (CIPSO).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

END, NO_OPERATION = 0, 1
RECORD_ROUTE, TIMESTAMP, ROUTER_ALERT = 7, 68, 148
LOOSE_ROUTE, CIPSO, STRICT_ROUTE = 131, 134, 137
"""IANA, IP option numbers."""
_REFUSED: Final = frozenset({LOOSE_ROUTE, CIPSO, STRICT_ROUTE})
_ONCE: Final = frozenset({RECORD_ROUTE, TIMESTAMP})
_ADDRESS = 4
"""Bytes of an IPv4 address, and of a timestamp."""
_WITH_ADDRESS, _PRESPECIFIED = 1, 3
"""Flags of a timestamp behind an address: of any router, or of those that the sender names."""
_SHORTEST, _LONGEST = 0x46, 0x4F
"""First bytes of IPv4 headers with options: version 4, and a length of 6 to 15 words."""


def may_be_forwarded(datagram: bytes) -> bool:
    """Return whether a router forwards an IP datagram with its options; True without any.

    The header of `datagram` must be whole.
    """
    if not _SHORTEST <= datagram[0] <= _LONGEST:
        return True
    options = datagram[20 : (datagram[0] & 0x0F) * 4]
    seen: set[int] = set()
    while options and options[0] != END:
        kind = options[0]
        if kind == NO_OPERATION:
            options = options[1:]
            continue
        length = options[1] if len(options) > 1 else 0
        if not 2 <= length <= len(options) or kind in _REFUSED or kind in seen & _ONCE:
            return False
        if kind in _CHECKS and not _CHECKS[kind](options[:length]):
            return False
        seen.add(kind)
        options = options[length:]
    return True


def _record_route(option: bytes) -> bool:
    """Return whether its pointer lies behind byte 3, and at room for an address or at the end."""
    return len(option) >= 3 and option[2] >= 4 and _has_room(option, _ADDRESS)


def _timestamp(option: bytes) -> bool:
    """Return whether its pointer lies behind byte 4, and a full one can count the overflow."""
    if len(option) < 4 or option[2] < 5:
        return False
    overflow, flag = option[3] >> 4, option[3] & 0x0F
    if option[2] > len(option):
        return flag == _PRESPECIFIED or overflow < 15
    return _has_room(option, 2 * _ADDRESS if flag in (_WITH_ADDRESS, _PRESPECIFIED) else _ADDRESS)


def _has_room(option: bytes, size: int) -> bool:
    pointer = option[2]  # counts from 1
    return pointer > len(option) or pointer + size - 1 <= len(option)


def _router_alert(option: bytes) -> bool:
    """Return whether the option has its two bytes of value (RFC 2113)."""
    return len(option) >= 4


_CHECKS: Final[dict[int, Callable[[bytes], bool]]] = {
    RECORD_ROUTE: _record_route,
    TIMESTAMP: _timestamp,
    ROUTER_ALERT: _router_alert,
}
