"""Next hops of legs whose interfaces may go down and come up.

The kernel forgets an interface's neighbours and routes when it goes down, and does not bring them
back (`ip link set DEVICE down`, Mininet's `link A B down`). So they are put there whenever the
interface is seen up; what is there already stays the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
from collections.abc import Callable, Mapping, Sequence

from minitopo_dc.real.element.loop import ElementError, clock, command
from minitopo_dc.scenario.element import NextHop

RTMGRP_LINK = 1
"""linux/rtnetlink.h: whatever happens to interfaces."""
SIOCGIFFLAGS = 0x8913
"""linux/sockios.h: an interface's flags (netdevice(7))."""
IFF_UP, IFF_RUNNING = 0x1, 0x40
"""linux/if.h: it was brought up; it is and has a carrier."""
MESSAGES = 1 << 16
"""Bytes read at once: all that counts is that there was something."""

Changed = Callable[[Mapping[int, bool], int], None]
"""Takes which legs are up, and the time (ns)."""


class NextHops:
    """Neighbour and route of each leg's far end; its packets are the kernel's news of interfaces.

    Args:
        hops: of the legs.
        interfaces: of these legs, in the same order.
        changed: is told when a leg went down or came up.
    """

    def __init__(
        self, hops: Sequence[NextHop], interfaces: Sequence[str], changed: Changed
    ) -> None:
        self._hops = list(zip(hops, interfaces, strict=True))
        self._changed = changed
        self._asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._news = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._news.setblocking(False)
        self._news.bind((0, RTMGRP_LINK))
        self._up = {hop.leg: True for hop in hops}

    def start(self) -> None:
        """Add the neighbours and routes of the legs that are up; report the others as down.

        Raises:
            ElementError: the kernel refused one.
        """
        self._look(contextlib.nullcontext())

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._news.fileno()

    def read(self) -> None:
        """Look at all interfaces, as something happened to one, which may have gone down and up."""
        with contextlib.suppress(OSError):  # empty at last; or too much to hold (ENOBUFS)
            while self._news.recv(MESSAGES):
                pass
        # One that is down again refuses, which is news to come.
        self._look(contextlib.suppress(ElementError))

    def close(self) -> None:
        """Close both of its netlink sockets."""
        self._news.close()
        self._asking.close()

    def _look(self, refusing: contextlib.AbstractContextManager[None]) -> None:
        """Make neighbours and routes of the legs that are up, and tell of those that changed."""
        for hop, interface in self._hops:
            if self._is_up(interface):
                with refusing:
                    _make(hop, interface)
        up = {hop.leg: self._is_up(interface) for hop, interface in self._hops}
        if up != self._up:
            self._up = up
            self._changed(up, clock())

    def _is_up(self, interface: str) -> bool:
        request = struct.pack("16sH22x", interface.encode(), 0)
        try:
            answer = fcntl.ioctl(self._asking, SIOCGIFFLAGS, request)
        except OSError:
            return False  # it is gone
        (flags,) = struct.unpack_from("16xH", answer)
        return bool(flags & IFF_UP and flags & IFF_RUNNING)


def _make(hop: NextHop, interface: str) -> None:
    """Add neighbour and route; raise ElementError if the kernel refused one."""
    gateway, device = str(hop.gateway), ("dev", interface)
    neighbour = (gateway, "lladdr", hop.link_layer, *device, "nud", "permanent")
    command("ip", "neighbour", "replace", *neighbour)
    route = ("default", "via", gateway, *device, "onlink", "table", str(hop.table))
    command("ip", "route", "replace", *route)
