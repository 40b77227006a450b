"""The firewall rules that hand packets to an element, and the marks it gives them.

A packet of a transmitting bearer is queued once, in PREROUTING: the element numbers it, picks the
leg and holds it for as long as the leg does; its mark then names the leg for routing and says that
it has been through one. Any other packet that leaves on a leg is queued in POSTROUTING. A PDU that
arrives on a leg is queued in PREROUTING. No rule has `--queue-bypass`: while no element listens,
the kernel drops the packets, so that none passes unshaped.

What the kernel would discard between PREROUTING and the leg is not queued for a transmitting bearer
(`forwarded`): a number would be lost with it.

What IPv6 needs to find the neighbours on a link is exempt (`unshaped`): with IPv4 that is ARP,
which no rule of iptables sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.element.loop import command, inside
from minitopo_dc.scenario.element import Match

THROUGH_LEG = 0x100
"""The mark's bit of a packet that has been through its leg."""

LINK_MESSAGES = (*range(130, 138), 143)
"""ICMPv6 types that concern one link: 130 to 132 and 143 are those of multicast listener discovery
(RFC 2710, RFC 3810), 133 to 137 of neighbour discovery (RFC 4861: solicitations, advertisements,
redirects)."""
LINK_LOCAL, LINK_MULTICAST = "fe80::/10", "ff02::/16"
"""RFC 4291, sections 2.5.6 and 2.7: no router forwards packets with such addresses."""

CONFIGURATION = Path("/proc/sys/net/ipv4/conf")

_PROGRAMS: dict[IpVersion, str] = {4: "iptables", 6: "ip6tables"}


class Rule(NamedTuple):
    """A rule of table mangle: its chain, then what iptables or ip6tables takes behind it."""

    version: IpVersion
    arguments: tuple[str, ...]


def leg_mark(leg: int) -> int:
    """Return the firewall mark of a packet that has been through leg `leg`."""
    return THROUGH_LEG | leg


def incoming(interface: str, match: Match, queue: int, version: IpVersion) -> Rule:
    """Queue what enters by `interface` and matches: PDUs, whatever their addresses."""
    matches = _arguments(match, version)
    return Rule(version, ("PREROUTING", "-i", interface, *matches, *_target(queue)))


def forwarded(
    interface: str, match: Match, queue: int, version: IpVersion, *, own: bool = False
) -> Rule:
    """Queue what enters by `interface`, matches, and is forwarded as far as its addresses say.

    Anything else goes on beside the bearer, as if there were none: what is for this host itself
    reaches it, and the kernel discards what has no other host's source (RFC 1812, section 5.3.7),
    goes to a group, or came in a link-layer broadcast (section 5.3.4).

    Args:
        interface: by which packets enter.
        match: the bearer's.
        queue: its number.
        version: of IP.
        own: whether this host takes packets from its own addresses (`accept_local`).
    """
    source = "UNICAST,LOCAL" if own and version == 4 else "UNICAST"
    checks = (
        *("-m", "pkttype", "--pkt-type", "unicast"),
        *("-m", "addrtype", "--src-type", source, "--dst-type", "UNICAST"),
        *("-m", "addrtype", "!", "--dst-type", "LOCAL"),  # with IPv6 it is UNICAST, too
    )
    matches = _arguments(match, version)
    return Rule(version, ("PREROUTING", "-i", interface, *matches, *checks, *_target(queue)))


def accepts_local(interface: str) -> bool:
    """Return whether packets from this host's IPv4 addresses may enter by `interface`.

    The kernel setting `accept_local` says so (ip-sysctl).
    """
    files = (CONFIGURATION / name / "accept_local" for name in ("all", interface))
    return any(file.exists() and file.read_text(encoding="ascii").strip() != "0" for file in files)


def outgoing(interface: str, queue: int, version: IpVersion) -> Rule:
    """Queue what leaves by `interface` and has not been through a leg yet."""
    unmarked = ("-m", "mark", "!", "--mark", f"{THROUGH_LEG:#x}/{THROUGH_LEG:#x}")
    return Rule(version, ("POSTROUTING", "-o", interface, *unmarked, *_target(queue)))


def unshaped() -> Iterator[Rule]:
    """Yield rules that let IPv6 neighbour discovery pass, which a leg must not delay or lose.

    Else the first packets would wait for an exchange through both legs, and on a lossy leg
    addresses would be given up now and then, which is not part of the traffic to be measured.
    """
    link_messages = (("-p", "icmpv6", "--icmpv6-type", str(number)) for number in LINK_MESSAGES)
    link_addresses = (("-s", LINK_LOCAL), ("-d", LINK_LOCAL), ("-d", LINK_MULTICAST))
    matches = (*link_messages, *link_addresses)
    for chain in ("PREROUTING", "POSTROUTING"):
        for match in matches:
            yield Rule(6, (chain, *match, "-j", "ACCEPT"))


@contextmanager
def installed(rules: Iterable[Rule], host: int | None = None) -> Iterator[None]:
    """Install `rules` in a network namespace for a block; a refused one takes back those before it.

    Where there are any for IPv6, `unshaped` comes before them.

    Args:
        rules: what is held meanwhile.
        host: a process in the namespace; None: this process' own.
    """
    held = list(rules)
    if any(rule.version == 6 for rule in held):
        held = [*unshaped(), *held]
    with ExitStack() as stack:
        for rule in held:
            _iptables("-A", rule, host)
            stack.callback(_iptables, "-D", rule, host)
        yield


def _arguments(match: Match, version: IpVersion) -> Iterator[str]:
    """Yield the iptables arguments that match a bearer's packets."""
    if match.source is not None:
        yield from ("-s", str(match.source))
    if match.destination is not None:
        yield from ("-d", str(match.destination))
    if match.protocol is not None:
        icmp = match.protocol == "icmp" and version == 6
        yield from ("-p", "icmpv6" if icmp else match.protocol)
    if match.source_port is not None:
        yield from ("--sport", str(match.source_port))
    if match.destination_port is not None:
        yield from ("--dport", str(match.destination_port))


def _target(queue: int) -> tuple[str, ...]:
    return ("-j", "NFQUEUE", "--queue-num", str(queue))


def _iptables(action: str, rule: Rule, host: int | None) -> None:
    with inside(host):
        command(_PROGRAMS[rule.version], "-w", "-t", "mangle", action, *rule.arguments)
