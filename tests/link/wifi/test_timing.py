"""Arithmetic of 802.11n against docs/radio-legs.md and against a published measurement."""

from __future__ import annotations

import pandas as pd
import pytest

from minitopo_dc.link import WifiParameters, goodput_bps, saturated_bps
from minitopo_dc.link.wifi.parameters import MEAN_ACCESS_NS, exchange_ns, transmission_ns
from tests import REPOSITORY

TABLE_6 = REPOSITORY / "studies/mesh/reference/wmn_table_6_frame_aggregation.csv"
TCP = {"data": 1500, "payload": 1448, "acknowledgement": 52}
"""Full segments with timestamps over IPv4, an ACK of nothing else."""
QUIC = {"data": 1378, "payload": 1350, "acknowledgement": 68}
"""Datagrams of 1,350 bytes and of 40 bytes with an ACK frame, over UDP and IPv4."""


@pytest.mark.parametrize(
    ("sizes", "mpdus", "mbps"),
    [
        *zip([TCP] * 4, [1, 2, 4, 10], [24.1, 30.1, 39.9, 49.6], strict=True),
        *zip([QUIC] * 4, [1, 2, 4, 10], [23.2, 29.1, 39.1, 49.2], strict=True),
    ],
)
def test_goodput_by_mpdus_in_a_txop_is_that_of_the_table(
    sizes: dict[str, int], mpdus: int, mbps: float
) -> None:
    assert round(goodput_bps(WifiParameters(), mpdus, **sizes) / 1e6, 1) == mbps


@pytest.mark.parametrize(("name", "sizes"), [("tcp", TCP), ("quic", QUIC)])
def test_without_aggregation_it_is_within_a_tenth_of_the_published(
    name: str, sizes: dict[str, int]
) -> None:
    published = pd.read_csv(TABLE_6, index_col="transport")["aggregation_off_mbps"][name]
    assert goodput_bps(WifiParameters(), 1, **sizes) / 1e6 == pytest.approx(published, rel=0.1)


def test_a_lone_packet_takes_what_the_standards_times_add_up_to() -> None:
    bits = (1500 + 8 + 26 + 4 + 4) * 8
    mpdu_ns = -(-bits * 1000 // 65)
    assert transmission_ns(WifiParameters(), 1542) == 40_000 + mpdu_ns + 16_000 + 32_000
    assert MEAN_ACCESS_NS == 34_000 + 67_500
    assert exchange_ns(WifiParameters(), 1, 1500) == 101_500 + 88_000 + mpdu_ns


@pytest.mark.parametrize(
    ("parameters", "packets"),
    [
        (WifiParameters(), 42),  # 65,535 bytes
        (WifiParameters(rate_bps=6_500_000), 5),  # 10 ms
        (WifiParameters(max_mpdus=8), 8),
        (WifiParameters(aggregation="none"), 1),
        (WifiParameters(aggregation="a-msdu"), 2),
        (WifiParameters(aggregation="a-msdu", amsdu_bytes=7935), 5),
    ],
)
def test_a_saturated_direction_fills_its_txops_to_the_limit(
    parameters: WifiParameters, packets: int
) -> None:
    expected = packets * 12_000 / exchange_ns(parameters, packets, 1500) * 1e9
    assert saturated_bps(parameters) == round(expected)


def test_errors_and_others_take_their_part_of_what_is_carried() -> None:
    ideal = saturated_bps(WifiParameters())
    assert saturated_bps(WifiParameters(mpdu_error=0.1)) == pytest.approx(0.9 * ideal)
    assert saturated_bps(WifiParameters(load=0.01)) < 0.99 * ideal


def test_others_have_one_packet_each_for_a_long_txop_at_most() -> None:
    one, five = (saturated_bps(WifiParameters(load=0.9, stations=n)) for n in (1, 5))
    assert 0.8 * saturated_bps(WifiParameters()) < one < saturated_bps(WifiParameters())
    assert five < 0.7 * one
