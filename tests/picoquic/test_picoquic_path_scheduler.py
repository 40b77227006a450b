"""A scheduler of the user's own, in Python."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.picoquic.connection import PicoquicError
from minitopo_dc.picoquic.scheduler import PathView, path_scheduler
from minitopo_dc.registry import load_plugins, registrations_kept
from minitopo_dc.runners.base import get_runner
from tests import REPOSITORY
from tests.picoquic.conftest import MakePair
from tests.picoquic.extension import needs_picoquic
from tests.picoquic.pair import CLIENTS, Network, content
from tests.picoquic.test_picoquic_paths import open_paths

pytestmark = needs_picoquic
EXAMPLE = str(REPOSITORY / "examples" / "shortest_round_trip.py")


def test_the_example_sends_each_packet_as_minrtt_does(make_pair: MakePair) -> None:
    digests = []
    with registrations_kept():
        load_plugins([EXAMPLE])
        for name in ("minrtt", "shortest-round-trip", "roundrobin"):
            network = Network(slow={CLIENTS[1]: 5})
            with make_pair(network, max_paths=2, scheduler=name) as pair:
                open_paths(pair.connected(), 1)
                assert pair.wait_for(pair.get(300_000)) == content(300_000)
                digests.append(pair.digest())
    assert digests[0] == digests[1] != digests[2]


def test_a_scheduler_sees_the_paths_of_its_end(make_pair: MakePair) -> None:
    seen: list[Sequence[PathView]] = []

    class Watching:
        def choose(self, paths: Sequence[PathView], now_ns: int) -> int:
            assert now_ns % 1000 == 0
            seen.append(paths)
            return next(place for place, path in enumerate(paths) if path.has_room)

    with registrations_kept():
        path_scheduler("watching")(Watching)
        with make_pair(max_paths=2, scheduler="watching") as pair:
            open_paths(pair.connected(), 1)
            pair.wait_for(pair.get(200_000))
            last = seen[-1]
    assert {path.leg for path in last} == {1, 2}
    assert all(path.smoothed_rtt_ns > 20_000_000 and path.packets_sent for path in last)
    assert all(path.cwnd_bytes >= path.segment_bytes == 1200 for path in last)


class OutOfRange:
    def choose(self, paths: Sequence[PathView], now_ns: int) -> int:  # noqa: ARG002
        return len(paths)


class Broken:
    def choose(self, paths: Sequence[PathView], now_ns: int) -> int:  # noqa: ARG002
        raise RuntimeError("no idea")


@pytest.mark.parametrize(
    ("scheduler", "reason"),
    [
        (OutOfRange, "scheduler 'bad': chose 2, allowed: 0 to 1"),
        (Broken, r"scheduler 'bad': RuntimeError: no idea \(.*test_picoquic_path_scheduler.py:\d+"),
    ],
)
def test_an_answer_that_is_none_ends_the_run(
    make_pair: MakePair, scheduler: type, reason: str
) -> None:
    with registrations_kept():
        path_scheduler("bad")(scheduler)
        with make_pair(max_paths=2, scheduler="bad") as pair:
            pair.connected()
            with pytest.raises(PicoquicError, match=reason):
                open_paths(pair, 1)


def test_names_that_are_unknown_or_taken_are_refused() -> None:
    with pytest.raises(SettingsError, match="'fastest' is no scheduler; allowed: picoquic, minrtt"):
        get_runner("mpquic-picoquic").check_options({"scheduler": "fastest"}, 4)
    with pytest.raises(ValueError, match="there is an MP-QUIC scheduler 'minrtt' already"):
        path_scheduler("minrtt")(Broken)
