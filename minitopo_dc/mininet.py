"""Topologies, hosts and links for programs of Mininet, which it imports (docs/mininet.md)."""

from __future__ import annotations

from minitopo_dc.real.elements import testbed
from minitopo_dc.topologies.dual_connectivity import Gnb, Ue, addDualConnectivity
from minitopo_dc.topologies.radio_link import RadioLink
from minitopo_dc.topologies.two_path import TwoPath

__all__ = ["Gnb", "RadioLink", "TwoPath", "Ue", "addDualConnectivity", "testbed"]
