"""A stack that is a shared object and a name, as a user's plugin has it."""

from __future__ import annotations

import pytest

from minitopo_dc.plugins import Stack, shared_object
from minitopo_dc.quic.noq import EXTENSION, NOQ
from minitopo_dc.runners.certificate import Certificate
from tests.quic.conftest import configurations
from tests.quic.extension import needs_noq
from tests.quic.pair import Network, Pair, content


@needs_noq
def test_a_shared_object_with_the_interface_is_a_stack(files: Certificate) -> None:
    path = EXTENSION.find()
    assert path is not None
    third = Stack("third", "1", ("cubic",), shared_object(path), lambda: None)
    third.seed(1)
    assert third.ecn_of("cubic") == 2  # ECT(0)
    ends = configurations(files, third, congestion_control="cubic")
    with Pair(*ends, Network()) as pair:
        assert pair.wait_for(pair.connected().get(100_000)) == content(100_000)


@needs_noq
def test_what_a_stack_has_not_is_refused(files: Certificate) -> None:
    client, server = configurations(files, NOQ, scheduler="minrtt")
    with pytest.raises(RuntimeError, match="noq has one scheduler of paths"):
        Pair(client, server, Network())
