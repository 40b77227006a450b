"""Hosts on a kernel that was booted without IPv6."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

from minitopo_dc.topologies.host import set_up


def test_a_kernel_without_ipv6_is_no_reason_to_fail() -> None:
    commands: list[list[str]] = []

    def pexec(command: list[str]) -> tuple[str, str, int]:
        """As sysctl(8) where there is no `net.ipv6`: an unknown key is an error, but with -e."""
        commands.append(command)
        unknown = any(word.startswith("net.ipv6") for word in command)
        refused = command[0] == "sysctl" and unknown and "e" not in command[1]
        return "", "cannot stat /proc/sys/net/ipv6: No such file or directory", int(refused)

    node = SimpleNamespace(name="gnb", nameToIntf={"gnb-leg1": None}, pexec=pexec)
    set_up(node, forward=True, mtu={}, commands=[("route", "add", "default", "via", "10.0.0.1")])
    (ipv6,) = (each for each in commands if any("ipv6" in word for word in each))
    assert ipv6[-1] == "net.ipv6.conf.all.disable_ipv6=1"
    assert ["sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.ip_forward=1"] in commands


def test_sysctl_ignores_unknown_keys_when_told_so() -> None:
    command = ["sysctl", "-eqw", "net.no_such_key=1"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
