"""What the tests of connections share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from minitopo_dc.quic.picoquic import PICOQUIC
from minitopo_dc.quic.stack import Configuration, Stack
from minitopo_dc.runners.addresses import SERVER_NAME, SIMULATED, Certificate
from tests.quic.extension import STACKS
from tests.quic.pair import Network, Pair

MakePair = Callable[..., Pair]


@pytest.fixture(scope="session")
def files() -> Certificate:
    """What the server has, and the client trusts."""
    return SIMULATED


@pytest.fixture(scope="module", params=STACKS)
def stack(request: pytest.FixtureRequest) -> Stack:
    """Each stack, unless a module has its own."""
    return cast("Stack", request.param)


@pytest.fixture(scope="module")
def server_stack(stack: Stack) -> Stack:
    """The client's, unless a module has another."""
    return stack


@pytest.fixture(scope="module")
def make_pair(files: Certificate, stack: Stack, server_stack: Stack) -> MakePair:
    """Makes pairs: `with make_pair(network, max_paths=2, seed_value=1, ...) as pair:`."""

    def make(network: Network | None = None, *, seed_value: int = 1, **fields: Any) -> Pair:
        for used in {stack.name: stack, server_stack.name: server_stack}.values():
            used.seed(seed_value)
        client, server = configurations(files, stack=stack, **fields)
        return Pair(client, replace(server, stack=server_stack), network or Network())

    return make


def configurations(
    files: Certificate, stack: Stack = PICOQUIC, **fields: Any
) -> tuple[Configuration, Configuration]:
    """A client's and a server's."""
    server = Configuration(
        stack=stack,
        is_client=False,
        certificate=files.certificate,
        key=files.key,
        alpn="test",
        server_name=SERVER_NAME,
        **fields,
    )
    return replace(server, is_client=True, key=None), server
