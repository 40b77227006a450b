"""The hosts of the testbed's topologies, with IPv4 alone or with IPv6 beside it.

Addresses and routes are written down once, for IPv4. With `ip_version` 6 each host gets all of them
once more for IPv6, with the same digits: 10.A.B.C becomes fd00:10:A:B::C, which is a unique local
address (RFC 4193). Its global identifier is chosen to be readable, not random as section 3.2.2
asks: nothing here ever meets another site.
"""

from __future__ import annotations

import re
import select
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import IPv6Interface
from subprocess import PIPE
from typing import Any

from mininet.node import Node

SHELL_WATCH_MS = 200
"""How often it is looked at whether a host's shell is there, while nothing comes from it."""
Command = Sequence[str]
"""Arguments of a program, mostly of `ip`."""

_IPV4 = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(\d+)(?:/(\d+))?")
_PREFIX_LENGTHS = {"8": 32, "16": 48, "24": 64, "32": 128, None: 128}
"""As long as the same groups: 10.A.0.0/16 is fd00:10:A::/48, 10.A.B.0/24 is fd00:10:A:B::/64."""


class ShellEndedError(RuntimeError):
    """Error: the shell that holds a host's namespace was ended from outside."""


class TestbedHost(Node):  # type: ignore[misc]
    """A host that sends packets unchanged: no offloads, no reverse-path filter, its own routes."""

    __test__ = False  # not a test class

    def read(self, size: int = 1024) -> str:
        """Return what the host's shell writes, where Mininet would wait for ever for a dead one.

        Raises:
            ShellEndedError: it has ended.
        """
        _wait_for_output(self, size)
        return str(super().read(size))

    def config(
        self,
        forward: bool = False,
        mtu: dict[str, int] | None = None,
        commands: Iterable[Command] = (),
        ip_version: int = 4,
        **parameters: Any,
    ) -> Any:
        """Configure addresses as Mininet does, then everything else.

        Args:
            forward: whether this host is a router.
            mtu: bytes for each interface that does not have the usual 1,500.
            commands: `ip` arguments to run once all interfaces are up.
            ip_version: 4, or 6 for both versions.
            parameters: Mininet's own.
        """
        configured = super().config(**parameters)
        set_up(self, forward=forward, mtu=mtu or {}, commands=commands, ip_version=ip_version)
        return configured


@contextmanager
def watched_shells() -> Iterator[None]:
    """Let all of Mininet's nodes read as `TestbedHost` does, for a block.

    This is for networks of other code, whose nodes are its own.
    """
    unwatched = Node.read

    def read(node: Node, size: int = 1024) -> str:
        _wait_for_output(node, size)
        return str(unwatched(node, size))

    Node.read = read
    try:
        yield
    finally:
        Node.read = unwatched


def _wait_for_output(node: Node, size: int) -> None:
    """Wait for output; Mininet's `waitReadable` would return at once, if it has room to write."""
    if len(node.readbuf) >= size:
        return
    output = select.poll()
    output.register(node.stdout, select.POLLIN)
    while not output.poll(SHELL_WATCH_MS):
        if (code := node.shell.poll()) is not None:
            dismiss_ended([node])
            raise ShellEndedError(f"host {node.name}: its shell ended with {code}")


def dismiss_ended(nodes: Iterable[Node]) -> None:
    """Let Mininet ignore what is still asked of nodes whose shell has ended."""
    for node in nodes:
        if node.shell is not None and node.shell.poll() is not None:
            node.cleanup()
            node.waiting = False


def set_up(
    node: Node,
    *,
    forward: bool,
    mtu: Mapping[str, int],
    commands: Iterable[Command],
    ip_version: int = 4,
) -> None:
    """Make any Mininet node a host of the testbed; its interfaces have their IPv4 addresses."""
    names, commands = [*node.nameToIntf], [*commands]
    # rp_filter of an interface is the larger of its own and "all" (ip-sysctl).
    filters = (f"net.ipv4.conf.{name}.rp_filter=0" for name in ("all", *names))
    run(node, "sysctl", "-qw", *filters, f"net.ipv4.ip_forward={int(forward)}")
    # Unasked, IPv6 would add router solicitations and duplicate address detection to every leg.
    # A kernel that was booted without IPv6 has no such key, and none of this to do (-e).
    run(node, "sysctl", "-eqw", "net.ipv6.conf.all.disable_ipv6=1")
    for name in names:
        # What is longer than the MTU or lacks its checksum is no packet of a leg.
        run(node, *words(f"ethtool -K {name} tso off gso off gro off tx off"))
    sizes = [words(f"link set dev {name} mtu {mtu.get(name, 1500)}") for name in names]
    run_ip(node, [*sizes, *commands])
    if ip_version == 6:
        _enable_ipv6(node, forward)
        run_ip(node, [[in_ipv6(word) for word in command] for command in commands], "-6")


def _enable_ipv6(node: Node, forward: bool) -> None:
    """Set the IPv6 addresses at once and for good, without any traffic that is not needed."""
    for name in node.nameToIntf:
        # No duplicate address detection, router solicitations, routers' news.
        quiet = ("accept_dad", "router_solicitations", "accept_ra", "autoconf")
        run(node, "sysctl", "-qw", *(f"net.ipv6.conf.{name}.{setting}=0" for setting in quiet))
    all_interfaces = "net.ipv6.conf.all"
    forwarding = f"{all_interfaces}.forwarding={int(forward)}"
    run(node, "sysctl", "-qw", forwarding, f"{all_interfaces}.disable_ipv6=0")
    for interface in node.intfList():
        if interface.ip is not None:
            address = in_ipv6(f"{interface.ip}/{interface.prefixLen}")
            run(node, "ip", "-6", "address", "add", address, "dev", interface.name, "nodad")


def in_ipv6(word: str) -> str:
    """Return the IPv6 address or network for an IPv4 one, other words unchanged.

    Raises:
        ValueError: the network does not end at a byte.
    """
    match = _IPV4.fullmatch(word)
    if match is None:
        return word
    first, second, third, last, length = match.groups()
    if length not in _PREFIX_LENGTHS:
        raise ValueError(f"{word}: allowed are networks of 8, 16 or 24 bits")
    address = f"fd00:{first}:{second}:{third}::{last}/{_PREFIX_LENGTHS[length]}"
    written = IPv6Interface(address)
    return str(written.ip) if length is None else str(written)


def words(text: str) -> Command:
    """Return the words of a command that is written as one types it."""
    return tuple(text.split())


def run_ip(node: Node, commands: Sequence[Command], *options: str) -> None:
    """Run `ip` once on a node for all commands; RuntimeError names the line of one that fails."""
    batch = "\n".join(map(" ".join, commands))
    run(node, "ip", *options, "-batch", "-", given=batch)


def run(node: Node, *command: str, given: str = "") -> None:
    """Run a command with `given` as its input; raise RuntimeError with its words when it fails."""
    process = node.popen([*command], stdin=PIPE, text=True)
    out, err = process.communicate(given)
    if process.returncode:
        raise RuntimeError(f"{node.name}: {' '.join(command)}: {(err or out).strip()}")
