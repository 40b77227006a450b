"""The firewall rules that hand packets to an element, and the marks it gives them.

A packet of a transmitting bearer is queued once, in PREROUTING: the element numbers it, picks the
leg and holds it for as long as the leg does; its mark then names the leg for routing and says that
it has been through one. Any other packet that leaves on a leg is queued in POSTROUTING. A PDU that
arrives on a leg is queued in PREROUTING. No rule has ``--queue-bypass``: while no element listens,
the kernel drops the packets, so that none passes unshaped.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from minitopo_dc.settings import Match

LEG_MASK = 0xFF
"""The bits of the firewall mark that name the leg for ``ip rule``."""
THROUGH_LEG = 0x100
"""The mark's bit of a packet that has been through its leg."""

Rule = tuple[str, ...]


class RuleError(RuntimeError):
    """iptables refused a rule."""


def leg_mark(leg: int) -> int:
    """The mark of a packet that has been through leg ``leg``."""
    return THROUGH_LEG | leg


def incoming(interface: str, match: Match, queue: int) -> Rule:
    """Queue what enters by ``interface`` and matches."""
    return ("PREROUTING", "-i", interface, *_arguments(match), *_target(queue))


def outgoing(interface: str, queue: int) -> Rule:
    """Queue what leaves by ``interface`` and has not been through a leg yet."""
    unmarked = ("-m", "mark", "!", "--mark", f"{THROUGH_LEG:#x}/{THROUGH_LEG:#x}")
    return ("POSTROUTING", "-o", interface, *unmarked, *_target(queue))


@contextmanager
def installed(rules: Iterable[Rule]) -> Iterator[None]:
    """Hold ``rules`` in this network namespace; a refused rule takes back those before it."""
    with ExitStack() as stack:
        for rule in rules:
            _iptables("-A", rule)
            stack.callback(_iptables, "-D", rule)
        yield


def _arguments(match: Match) -> Iterator[str]:
    """The iptables matches of a bearer."""
    if match.source is not None:
        yield from ("-s", str(match.source))
    if match.destination is not None:
        yield from ("-d", str(match.destination))
    if match.protocol is not None:
        yield from ("-p", match.protocol)
    if match.source_port is not None:
        yield from ("--sport", str(match.source_port))
    if match.destination_port is not None:
        yield from ("--dport", str(match.destination_port))


def _target(queue: int) -> Rule:
    return ("-j", "NFQUEUE", "--queue-num", str(queue))


def _iptables(action: str, rule: Rule) -> None:
    command = ["iptables", "-w", "-t", "mangle", action, *rule]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuleError(f"{' '.join(command)}: {done.stderr.strip()}")
