"""Paths that are given up, as picoquic of today has it and as that of 2022 had it."""

from __future__ import annotations

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.picoquic.connection import DEMOTED, PicoquicError
from minitopo_dc.picoquic.events import PathDeleted
from minitopo_dc.runners.base import get_runner
from tests.picoquic.conftest import MakePair
from tests.picoquic.extension import needs_picoquic
from tests.picoquic.pair import CLIENTS, SERVER, Network, Pair, content
from tests.picoquic.test_picoquic_paths import by_address, open_paths

pytestmark = needs_picoquic
LINGERING = [name for name in DEMOTED if name != "as-now"]
REFUSING = ["refuse", "2022"]


def give_up_first(pair: Pair) -> None:
    """In the middle of a download over two paths."""
    open_paths(pair.connected(), 1)
    pair.get(50_000_000)
    pair.run(1)
    pair.client.connection.abandon_path(0, pair.now)
    pair.send()


def lasted_s(pair: Pair) -> float:
    """Until the server has no first path any more."""
    begin = pair.now
    while not any(isinstance(each, PathDeleted) for each in pair.server.events):
        assert pair.step(begin + 20_000_000_000)
    return (pair.now - begin) / 1e9


def test_today_a_path_that_is_given_up_is_soon_forgotten(make_pair: MakePair) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=2) as pair:
        give_up_first(pair)
        assert lasted_s(pair) < 1.5


@pytest.mark.parametrize("name", LINGERING)
def test_in_2022_it_stayed_for_three_seconds(make_pair: MakePair, name: str) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=2, demoted_paths=name) as pair:
        give_up_first(pair)
        assert 2.9 < lasted_s(pair) < 4


@pytest.mark.parametrize("name", DEMOTED)
def test_only_then_and_only_if_it_refuses_the_same_addresses_have_to_wait(
    make_pair: MakePair, name: str
) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=3, demoted_paths=name) as pair:
        give_up_first(pair)
        pair.run(0.3)
        if name in REFUSING:
            with pytest.raises(PicoquicError, match="probe_new_path"):
                pair.client.connection.open_path(CLIENTS[0], SERVER, pair.now)
            pair.run(4)
        open_paths(pair, 0)


@pytest.mark.parametrize(("name", "sends"), [("linger", False), ("fall-back", True)])
def test_pacing_hands_on_to_the_first_path_though_it_was_given_up_if_it_falls_back(
    make_pair: MakePair, name: str, sends: bool
) -> None:
    # A window of NewReno's holds a sender back before pacing does.
    fields = {"max_paths": 2, "congestion_control": "bbr1"}
    with make_pair(Network(rate_mbps=10), demoted_paths=name, **fields) as pair:
        give_up_first(pair)
        pair.run(0.2)
        before = by_address(pair)[CLIENTS[0][0]].bytes_sent
        pair.run(2)
        assert (by_address(pair)[CLIENTS[0][0]].bytes_sent - before > 100_000) is sends


@pytest.mark.parametrize("name", DEMOTED)
def test_everything_arrives_whatever_becomes_of_the_path(make_pair: MakePair, name: str) -> None:
    with make_pair(Network(rate_mbps=10, loss=0.01), max_paths=2, demoted_paths=name) as pair:
        open_paths(pair.connected(), 1)
        stream = pair.get(3_000_000)
        pair.run(0.5)
        pair.client.connection.abandon_path(0, pair.now)
        pair.network.down.add(CLIENTS[0])
        assert pair.wait_for(stream) == content(3_000_000)


@pytest.mark.parametrize("name", DEMOTED)
def test_it_ends_where_the_last_path_fails_though_others_that_were_given_up_are_still_there(
    make_pair: MakePair, name: str
) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=4, demoted_paths=name) as pair:
        open_paths(pair.connected(), 1)
        pair.get(50_000_000)
        pair.run(1)
        pair.network.down.add(CLIENTS[2])
        pair.client.connection.open_path(CLIENTS[2], SERVER, pair.now)
        for path in pair.client.connection.paths():
            if path.local != CLIENTS[2]:
                pair.client.connection.abandon_path(path.path_id, pair.now)
        pair.run(10)
        closed = pair.client.closed()
        assert closed is not None
        assert any(words in closed.reason for words in ("no path is left", "application abandon"))


def test_one_path_has_no_such_option() -> None:
    with pytest.raises(SettingsError, match="no option 'demoted_paths'"):
        get_runner("quic-picoquic").check_options({"demoted_paths": "2022"}, 4)
    with pytest.raises(SettingsError, match="demoted_paths must be 'as-now' or 'linger'"):
        get_runner("mpquic-picoquic").check_options({"demoted_paths": "2021"}, 4)
