"""A number may have a unit where the name of its field tells what it is of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.numbers import QUANTITIES, in_field_unit, is_ambiguous, rate_unit, size_unit
from minitopo_dc.scenario import LegSettings, Pdcp, Scenario


@pytest.mark.parametrize(
    ("fields", "plain"),
    [
        ({"delay_ms": "8ms"}, {"delay_ms": 8}),
        ({"delay_ms": "0.5s"}, {"delay_ms": 500}),
        ({"jitter_ms": "100 us"}, {"jitter_ms": 0.1}),
        ({"rate_mbps": "20Mbit"}, {"rate_mbps": 20}),
        ({"rate_mbps": "20 mbit/s"}, {"rate_mbps": 20}),
        ({"rate_mbps": "1Gbit"}, {"rate_mbps": 1000}),
        ({"rate_mbps": "64kbps"}, {"rate_mbps": 0.064}),
        ({"rate_mbps": "5MB/s"}, {"rate_mbps": 40}),
        ({"rate_mbps": "2 MiB/s"}, {"rate_mbps": 16.777216}),
        ({"delay_ms": "20 µs"}, {"delay_ms": 0.02}),
        ({"delay_ms": "8 MSEC"}, {"delay_ms": 8}),
        ({"queue_bytes": "300kB"}, {"queue_bytes": 300_000}),
        ({"queue_bytes": "1MiB"}, {"queue_bytes": 1_048_576}),
        ({"loss_percent": "0.1%"}, {"loss_percent": 0.1}),
        ({"outages": [["1s", "2500ms"]]}, {"outages": [[1, 2.5]]}),
        (
            {"changes": [{"at_s": "500ms", "rate_mbps": "1Mbit"}]},
            {"changes": [{"at_s": 0.5, "rate_mbps": 1}]},
        ),
    ],
)
def test_a_number_with_a_unit_is_that_in_the_field_s_own(
    fields: dict[str, Any], plain: dict[str, Any]
) -> None:
    rate = {"rate_mbps": 20}
    assert LegSettings.check(rate | fields, "s") == LegSettings.check(rate | plain, "s")


@pytest.mark.parametrize(
    ("spellings", "bps"),
    [
        ("bps bit/s Bit/s bits/sec bits_per_second BIT/S", 1),
        ("kbps Kbps kb/s kbit/s Kbit/s KBIT/S kilobits_per_second Kbits/sec", 10**3),
        ("mbps Mbps Mb/s mbit Mbit MBIT mbit/s Mbits/sec megabits/second", 10**6),
        ("gbps Gbps Gb/s Gbit/s gbit", 10**9),
        ("Bps B/s byte/s bytes_per_sec", 8),
        ("kB/s kBps kByte/s kbytes/s kilobytes/s", 8 * 10**3),
        ("MB/s MBps MByte/s MBytes/sec megabytes_per_second", 8 * 10**6),
        ("Kibit/s Kibps kibit/s", 1024),
        ("KiB/s KiBps MiB/s", None),
    ],
)
def test_the_case_of_a_rate_s_unit_is_part_of_it(spellings: str, bps: int | None) -> None:
    units = [rate_unit(each) for each in spellings.split()]
    sizes = [None if unit is None else unit.size for unit in units]
    assert sizes == ([8 << 10, 8 << 10, 8 << 20] if bps is None else [bps] * len(units))


@pytest.mark.parametrize(
    "text",
    [
        "MBPS",
        "KBPS",
        "BPS",
        "mb",
        "Mb",
        "KB",
        "KB/s",
        "KBps",
        "KBytes/sec",
        "mB/s",
        "mb/s",
        "gb/s",
        "kib",
    ],
)
def test_a_unit_that_could_be_several_is_none(text: str) -> None:
    assert rate_unit(text) is None
    assert size_unit(text) is None
    assert is_ambiguous(text)


@pytest.mark.parametrize(
    ("field", "value", "units"),
    [
        ("delay_ms", "8Mbit", "ns, us, ms, s, min, h; allowed: 0 to 3,600,000 ms"),
        ("rate_mbps", "20MB", "bit/s, kbit/s, Mbit/s, Gbit/s, kbps, Mbps, "),
        ("rate_mbps", "20MBPS", "bit/s, kbit/s, Mbit/s, Gbit/s, kbps, Mbps, "),
        ("queue_bytes", "300KB", "B, kB, MB, GB, KiB, MiB, GiB; allowed: "),
        ("loss_percent", "1ms", "%; allowed: 0 to 100 %"),
        *(("delay_ms", value, "ns, us") for value in ("08ms", "1_0ms", "1:30s", "8  ms", "ms")),
    ],
)
def test_a_wrong_unit_is_one_error_with_the_field_the_value_and_the_units(
    field: str, value: str, units: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        LegSettings.check({"rate_mbps": 20, field: value}, "s")
    told = str(caught.value)
    assert told.startswith(f"s: {field}: {value} is no number in digits, such as 10 or 10")
    assert f"units: {units}" in told
    assert len(told.splitlines()) == 1


def test_a_field_whose_name_tells_no_unit_takes_none() -> None:
    with pytest.raises(SettingsError, match="queue_packets: 20ms is no number in digits, such as "):
        LegSettings.check({"rate_mbps": 20, "queue_packets": "20ms"}, "s")


def test_a_field_of_several_types_is_one_error() -> None:
    with pytest.raises(SettingsError) as caught:
        Pdcp.check({"t_reordering_ms": "5kB"}, "s")
    assert str(caught.value).endswith("allowed: 0 to 3,600,000 ms; or 'infinity' or 'adaptive'")
    assert str(caught.value).startswith("s: t_reordering_ms: 5kB is no number")


@given(st.integers(0, 10**15), st.sampled_from(sorted(QUANTITIES)), st.data())
def test_units_are_exact(number: int, name: str, data: st.DataObject) -> None:
    quantity = QUANTITIES[name]
    unit = data.draw(st.sampled_from(quantity.spellings))
    factor = quantity.factor(unit)
    assert factor is not None
    exact = number * factor
    assert in_field_unit(f"{number}{unit}", quantity) == pytest.approx(float(exact), rel=1e-15)
    assert Fraction(in_field_unit(f"{number}{unit}", quantity)) == exact or exact.denominator > 1


def test_what_is_wrong_of_both_directions_is_told_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Scenario.check(
            {"transport": "tcp", "mode": "sc", "legs": [{"rate_mbps": 20, "delay_ms": "8Mbit"}]},
            "s",
        )
    assert str(caught.value).startswith("s: legs.0: delay_ms: 8Mbit is no number in digits")
    assert len(str(caught.value).splitlines()) == 1
