"""Fixtures that tests of several stacks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runners.hosts import TwoHosts, processes_in, two_hosts


@pytest.fixture(scope="module")
def hosts() -> Iterator[TwoHosts]:
    with two_hosts() as made:
        yield made
        assert processes_in(made.server) == []
        assert processes_in(made.client) == []
