"""Probes of what the kernel lets the testbed do, found out by doing it.

A program, run as root in a throw-away network namespace (`unshare --net`), which ends with it. It
prints a JSON object: for each probe the reason why it failed, or empty text.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial

from netfilterqueue import NetfilterQueue, Packet

from minitopo_dc.runners.processes.kernel_socket import (
    IPPROTO_MPTCP,
    is_multipath,
    set_congestion_control,
    subflows,
)

QUEUE = 1
THROUGH = 0x100
"""The firewall mark's bit of a packet that has been through the queue, as the element sets it."""


def _outcome(probe: Callable[[], None]) -> str:
    """Return why a probe failed, in one line: the last one of a command, or the error's own."""
    try:
        probe()
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        written = getattr(error, "stderr", None)
        return str(written or error).strip().splitlines()[-1]
    return ""


def _run(*command: str) -> None:
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=10,
        check=True,
    )


def _links() -> None:
    _run("ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1")
    _run("ethtool", "-K", "probe0", "tso", "off", "gso", "off", "gro", "off", "tx", "off")


def _packet_queue(program: str, family: socket.AddressFamily, address: str) -> None:
    """Send a packet as the element does: queued by iptables, rewritten, marked, released.

    What only the rule of a transmitting bearer needs (addrtype, pkttype) is at least accepted.
    """
    checks = "-m pkttype --pkt-type unicast -m addrtype --src-type UNICAST -j ACCEPT"
    _run(program, "-w", "-t", "mangle", "-A", "PREROUTING", *checks.split())
    unmarked = f"-m mark ! --mark {THROUGH}/{THROUGH}"
    rule = f"POSTROUTING -o lo -p udp {unmarked} -j NFQUEUE --queue-num {QUEUE}"
    _run(program, "-w", "-t", "mangle", "-A", *rule.split())
    queue = NetfilterQueue()
    queue.bind(QUEUE, _release)
    try:
        with (
            socket.socket(family, socket.SOCK_DGRAM) as receiver,
            socket.socket(family, socket.SOCK_DGRAM) as sender,
        ):
            receiver.bind((address, 0))
            receiver.settimeout(1)
            sender.sendto(b"probe", receiver.getsockname())
            if not select.select([queue.get_fd()], (), (), 1)[0]:
                raise RuntimeError("the packet did not reach the queue")
            queue.run(block=False)
            receiver.recv(16)
    finally:
        queue.unbind()


def _release(packet: Packet) -> None:
    packet.set_payload(packet.get_payload())
    packet.set_mark(THROUGH)
    packet.accept()


def _exact_timers() -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _mptcp() -> None:
    """Open a connection that does not fall back to TCP, and ask the kernel for its subflows."""
    _run("ip", "mptcp", "limits", "set", "subflow", "2", "add_addr_accepted", "2")
    kind = socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP
    with socket.socket(*kind) as listener, socket.socket(*kind) as client:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client.connect(listener.getsockname())
        if not is_multipath(client):
            raise RuntimeError("the connection fell back to TCP")
        subflows(client, listener.getsockname()[:2])


def _congestion_control(name: str) -> None:
    with socket.socket() as connection:
        set_congestion_control(connection, name)


_queue_discipline = partial(_run, "tc", "qdisc", "replace", "dev", "lo", "root")
PROBES: dict[str, Callable[[], None]] = {
    "namespaces": partial(_run, "mnexec", "-n", "true"),  # as Mininet makes a host
    "links": _links,
    "routing by mark": partial(_run, *["ip", "rule", "add", "fwmark", "1/0xff", "table", "101"]),
    "NFQUEUE": partial(_packet_queue, "iptables", socket.AF_INET, "127.0.0.1"),
    "IPv6": partial(_packet_queue, "ip6tables", socket.AF_INET6, "::1"),
    "SCHED_FIFO": _exact_timers,
    **{name: partial(_congestion_control, name) for name in ("reno", "cubic", "bbr")},
    "MPTCP": _mptcp,
    "sch_tbf": partial(
        _queue_discipline, *["tbf", "rate", "20mbit", "burst", "15kb", "latency", "50ms"]
    ),
    "sch_netem": partial(_queue_discipline, "netem", "delay", "1ms"),
}

if __name__ == "__main__":
    _run("ip", "link", "set", "dev", "lo", "up")
    json.dump({name: _outcome(probe) for name, probe in PROBES.items()}, sys.stdout)
