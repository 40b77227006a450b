"""Which interfaces a frame or a packet reaches, by the links of a Mininet network."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mininet.link import Intf
from mininet.node import Node, Switch


def neighbours(interface: Intf) -> Iterator[Intf]:
    """Return the hosts' interfaces that frames from `interface` reach by its link and switches."""
    return (end for end in segment(interface) if not isinstance(end.node, Switch))


def segment(interface: Intf) -> Iterator[Intf]:
    """Yield all interfaces that frames from `interface` reach, those of switches too."""
    seen, waiting = {interface}, [interface]
    while waiting:
        near = waiting.pop()
        if near.link is None:
            continue
        far = near.link.intf2 if near.link.intf1 is near else near.link.intf1
        ports = far.node.intfList() if isinstance(far.node, Switch) else [far]
        for port in ports:
            if port not in seen and port.name != "lo":
                seen.add(port)
                yield port
                if port is not far:
                    waiting.append(port)


def behind(node: Node, without: Collection[Intf], stop: Node) -> list[Node]:
    """Return the hosts that `node` reaches, over any number of others, but not by some interfaces.

    Args:
        node: the first one, which is not among them.
        without: the interfaces of `node` that do not count.
        stop: a host that is not passed, nor among them.
    """
    hosts: list[Node] = []
    waiting = [end for end in node.intfList() if end not in without]
    while waiting:
        for far in neighbours(waiting.pop()):
            if far.node not in (node, stop, *hosts):
                hosts.append(far.node)
                waiting += [end for end in far.node.intfList() if end is not far]
    return hosts


def address(interface: Intf, *, planned: bool = False) -> str | None:
    """Return the IPv4 address of an interface, None if it has none.

    Args:
        interface: of a host.
        planned: Mininet is still configuring hosts. A host's own `ip` will go to its first
            interface, in place of what the link gave that one.
    """
    node = interface.node
    own = node.params.get("ip") if planned and interface is node.defaultIntf() else None
    given = own or interface.ip
    return str(given).split("/")[0] if given else None


def addresses(node: Node, *, planned: bool = False) -> Iterator[str]:
    """Return an iterator over all IPv4 addresses of a host's interfaces."""
    own = (address(interface, planned=planned) for interface in node.intfList())
    return (one for one in own if one is not None)
