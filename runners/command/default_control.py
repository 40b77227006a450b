"""The congestion control of a user's program, which opens its TCP sockets itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from minitopo_dc.runners.base import Host, TransferFailed
from minitopo_dc.runners.processes.process import kernel_setting, run

DEFAULT = "net.ipv4.tcp_congestion_control"
"""What TCP sockets have that are given no other (ip-sysctl.rst); of IPv6 too."""
TO_NO_HOST = ("local", "broadcast", "anycast", "multicast", "unreachable", "blackhole", "fe80:")
"""How routes begin that lead to no other host. Link-local ones are the same on all interfaces, of
which IPv6 would replace the first."""
STATES = ("linkdown", "dead")
"""Words of a route that is shown, and not of one that is set."""


@contextmanager
def default_control(host: Host, name: str) -> Iterator[None]:
    """Give the TCP and MPTCP sockets of a host a congestion control, for a block.

    It is the host's default. The kernel refuses to network namespaces, as a default, what it does
    not allow to every user (tcp_set_default_congestion_control of Linux' tcp_cong.c). The host's
    routes have it then. Theirs is what each connection begins with, whatever its program chose
    before (tcp_ca_dst_init and tcp_ca_openreq_child there).

    Raises:
        TransferFailed: the kernel takes it neither way.
    """
    with ExitStack() as undo:
        try:
            undo.enter_context(kernel_setting(host, DEFAULT, name))
        except TransferFailed:
            undo.enter_context(_of_routes(host, name))
        yield


@contextmanager
def _of_routes(host: Host, name: str) -> Iterator[None]:
    """Give the routes of a host a congestion control (ip-route(8): congctl), for a block."""
    with ExitStack() as undo:
        for version in ("-4", "-6"):
            replace = ["ip", version, "route", "replace"]
            for route in _routes(host, version):
                run(host, [*replace, *route, "congctl", name])
                undo.callback(run, host, [*replace, *route])
        yield


def _routes(host: Host, version: str) -> Iterator[list[str]]:
    """Yield the words of each route to other hosts that has no congestion control yet."""
    shown = run(host, ["ip", version, "-oneline", "route", "show", "table", "all"])
    for line in shown.splitlines():
        words = [word for word in line.split() if word not in STATES]
        if not line.startswith(TO_NO_HOST) and "congctl" not in words:
            yield words
