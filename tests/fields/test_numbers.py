"""Numbers of fields: as text, read, with units."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import Settings, SettingsError
from minitopo_dc.fields.yaml_text import parse_yaml
from minitopo_dc.numbers import (
    QUANTITIES,
    amount,
    duration,
    in_field_unit,
    is_ambiguous,
    is_plain,
    rate_unit,
    real,
    significant,
    size_unit,
    whole,
    with_spread,
)
from minitopo_dc.scenario import LegDirection, Pdcp, Scenario

SCENARIO = """transport: quic
mode: sc
legs:
- downlink: {{{0}}}
"""


@pytest.mark.parametrize(
    "field",
    [
        *("rate_mbps: 010", "rate_mbps: 1:30", "rate_mbps: 1_0", "rate_mbps: 0x10"),
        *("queue_packets: 0100", "queue_packets: 0b1", "delay_ms: 007.5", "delay_ms: 1_0.5"),
    ],
)
def test_a_number_that_yaml_reads_as_another_is_refused_with_its_line(
    tmp_path: Path, field: str
) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO.format(field), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"scenario\.yaml:4: "):
        Scenario.load(file)


class Numbers(Settings):
    """One field of each kind."""

    whole: int = 0
    real: float = 0.0
    either: int | None = None
    many: tuple[float, ...] = ()
    inner: Numbers | None = None


@pytest.mark.parametrize("value", [True, False, "0x1", "1_0", " 1", "10 ", "010", "1e", "", "ten"])
@pytest.mark.parametrize("name", ["whole", "real", "either"])
def test_every_number_of_settings_is_checked(name: str, value: object) -> None:
    for values in ({name: value}, {"inner": {name: value}}, {"many": [value]}):
        with pytest.raises(SettingsError, match="no number in digits"):
            Numbers.check(values, "s")


def test_numbers_and_their_texts_are_taken() -> None:
    made = Numbers.check({"whole": "12", "real": "1e3", "either": 10.0, "many": [".5", 2]}, "s")
    assert (made.whole, made.real, made.either, made.many) == (12, 1000.0, 10, (0.5, 2.0))


@given(st.integers() | st.floats(allow_nan=False))
def test_what_python_writes_is_read_as_it_was(number: float) -> None:
    assert real(str(number)) == float(number)
    if isinstance(number, int):
        assert whole(str(number)) == number
        assert parse_yaml(f"a: {number}") == {"a": number}


@given(st.text("0123456789_.+-:eExb ", max_size=8))
def test_only_decimal_digits_are_numbers(text: str) -> None:
    if is_plain(text):
        assert not set(text) & set("_:xb ")
        digits = text.lstrip("+-")
        assert not (digits.startswith("0") and digits[1:2].isdigit())


@pytest.mark.parametrize(
    ("write", "shown"),
    [
        (
            significant,
            {12.5499: "12.5", 9.996: "10.0", 0.04822: "0.0482", 1234.5: "1230", -3.0: "-3.00"}
            | {0: "0", math.nan: "-", math.inf: "inf", 99.96: "100", 1e-9: "1.00e-09"}
            | {999_999.0: "1000000"},
        ),
        (
            lambda pair: with_spread(*pair),
            {(12.63, 0.1234): "12.6 ± 0.12", (9.08, 0.0024): "9.08 ± 0.002"}
            | {(1234, 56.7): "1230 ± 57"},
        ),
        (
            amount,
            {0: "0 B", 312: "312 B", 48_230: "48.2 kB", 999_700: "1.00 MB", 2.5e9: "2.50 GB"},
        ),
        (duration, {0.864: "0.86 s", 80: "80 s", 312: "5.2 min", 11_200: "3.1 h"}),
    ],
)
def test_numbers_are_written_as_people_read_them(
    write: Callable[[Any], str], shown: dict[Any, str]
) -> None:
    assert {number: write(number) for number in shown} == shown


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
    assert LegDirection.check(rate | fields, "s") == LegDirection.check(rate | plain, "s")


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


AMBIGUOUS = "MBPS KBPS BPS mb Mb KB KB/s KBps KBytes/sec mB/s mb/s gb/s kib"


def test_a_unit_that_could_be_several_is_none() -> None:
    for text in [
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
    ]:
        assert rate_unit(text) is size_unit(text) is None
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
        LegDirection.check({"rate_mbps": 20, field: value}, "s")
    told = str(caught.value)
    assert told.startswith(f"s: {field}: {value} is no number in digits, such as 10 or 10")
    assert f"units: {units}" in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "fields", "begin", "end"),
    [
        (
            LegDirection,
            {"rate_mbps": 20, "queue_packets": "20ms"},
            "s: queue_packets: 20ms is no number in digits, such as ",
            "",
        ),
        (
            Pdcp,
            {"t_reordering_ms": "5kB"},
            "s: t_reordering_ms: 5kB is no number",
            "allowed: 0 to 3,600,000 ms; or 'infinity' or 'adaptive'",
        ),
        (
            Scenario,
            {"transport": "tcp", "mode": "sc", "legs": [{"rate_mbps": 20, "delay_ms": "8Mbit"}]},
            "s: legs.0: delay_ms: 8Mbit is no number in digits",
            "",
        ),
    ],
    ids=["no unit", "several types", "both directions"],
)
def test_a_wrong_number_is_one_line(
    kind: type[Settings], fields: dict[str, Any], begin: str, end: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        kind.check(fields, "s")
    (line,) = str(caught.value).splitlines()
    assert line.startswith(begin)
    assert line.endswith(end)


@given(st.integers(0, 10**15), st.sampled_from(sorted(QUANTITIES)), st.data())
def test_units_are_exact(number: int, name: str, data: st.DataObject) -> None:
    quantity = QUANTITIES[name]
    unit = data.draw(st.sampled_from(quantity.spellings))
    factor = quantity.factor(unit)
    assert factor is not None
    exact = number * factor
    assert in_field_unit(f"{number}{unit}", quantity) == pytest.approx(float(exact), rel=1e-15)
    assert Fraction(in_field_unit(f"{number}{unit}", quantity)) == exact or exact.denominator > 1
