"""Tests that need a compiled stack."""

from __future__ import annotations

import os
from typing import Any

import pytest

from minitopo_dc.quic.noq import NOQ
from minitopo_dc.quic.picoquic import PICOQUIC
from minitopo_dc.quic.stack import Stack


def needs(stack: Stack) -> pytest.MarkDecorator:
    """In CI they fail instead: the set-up builds it."""
    reason = stack.obstacle()
    return pytest.mark.skipif(reason is not None and not os.environ.get("CI"), reason=reason or "")


needs_picoquic, needs_noq = needs(PICOQUIC), needs(NOQ)
STACKS: list[Any] = [
    pytest.param(stack, id=stack.name, marks=needs(stack)) for stack in (PICOQUIC, NOQ)
]
"""For tests of each stack."""
STACKS_OF_ENDS: list[Any] = [
    pytest.param(
        (client.values[0], server.values[0]),
        id=f"{client.id}-{server.id}",
        marks=(*client.marks, *server.marks),
    )
    for client in STACKS
    for server in STACKS
]
"""For tests of each stack as a client of each stack: the client's and the server's."""
each_stack = pytest.mark.parametrize(
    "stack", [pytest.param(param.values[0].name, marks=param.marks) for param in STACKS]
)
"""For tests of the transports of each stack, by its name."""
