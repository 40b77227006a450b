"""A stack that is a shared object and a name, as a user's plugin has it."""

from __future__ import annotations

import pytest

from minitopo_dc.plugins import Stack, shared_object
from minitopo_dc.quic.noq import EXTENSION, NOQ
from minitopo_dc.quic.picoquic import PICOQUIC
from minitopo_dc.quic.stack import Experiment
from minitopo_dc.runners.addresses import Certificate
from tests.quic.conftest import configurations
from tests.quic.extension import needs_noq, needs_picoquic
from tests.quic.pair import SERVER, Network, Pair, content


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
    with pytest.raises(RuntimeError, match=r"noq .*scheduler"):
        Pair(client, server, Network())


def changed(files: Certificate, stack: Stack, experiment: Experiment | None) -> Pair:
    """A connection with CUBIC in which one property of the stack is another one."""
    stack.seed(1)
    ends = configurations(files, stack, congestion_control="cubic", experiment=experiment)
    return Pair(*ends, Network()).connected()


def lost_in_slow_start(pair: Pair) -> int:
    """Packets of 2 MB over a queue of 100 ms, which is a window of its own."""
    with pair:
        pair.wait_for(pair.get(2_000_000))
        (path,) = pair.server.connection.paths()
        return path.packets_lost


def moments_of_a_burst(pair: Pair) -> int:
    """When the server sends 50 packets that its window has room for: at how many moments."""
    with pair:
        pair.wait_for(pair.get(500_000))
        pair.run(1)
        before = len(pair.sent)
        pair.wait_for(pair.get(58_000))
        sent = pair.sent[before:]
        return len({now for now, source, _, data in sent if source == SERVER and len(data) > 1000})


@needs_picoquic
@needs_noq
def test_slow_start_ends_before_a_loss_with_hystart_only(files: Certificate) -> None:
    assert lost_in_slow_start(changed(files, PICOQUIC, None)) == 0
    assert lost_in_slow_start(changed(files, PICOQUIC, "no-hystart")) > 100
    assert lost_in_slow_start(changed(files, NOQ, "hystart")) == 0
    assert lost_in_slow_start(changed(files, NOQ, None)) > 100


def test_without_pacing_a_window_is_sent_at_once(files: Certificate, stack: Stack) -> None:
    assert moments_of_a_burst(changed(files, stack, "no-pacing")) == 1


@needs_picoquic
def test_every_second_packet_is_acknowledged_if_that_is_what_is_changed(
    files: Certificate,
) -> None:
    shares = {}
    for experiment in (None, "frequent-acks"):
        with changed(files, PICOQUIC, experiment) as pair:
            pair.wait_for(pair.get(2_000_000))
            sources = [source for _, source, _, _ in pair.sent]
            shares[experiment] = 1 - sources.count(SERVER) / len(sources)
    assert shares[None] < 0.2
    assert shares["frequent-acks"] == pytest.approx(1 / 3, abs=0.03)


@needs_picoquic
@needs_noq
def test_a_property_that_a_stack_has_not_is_refused(files: Certificate) -> None:
    wrong: tuple[tuple[Stack, Experiment], ...] = ((PICOQUIC, "hystart"), (NOQ, "frequent-acks"))
    for stack, name in wrong:
        with pytest.raises(RuntimeError, match=f"{stack.name}'s experiments"):
            changed(files, stack, name)
