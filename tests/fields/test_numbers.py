"""Numbers mean what they say: what YAML 1.1, Python or pydantic read as another is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc import cli
from minitopo_dc.fields import Settings, SettingsError
from minitopo_dc.fields.yaml_text import parse_yaml
from minitopo_dc.numbers import is_plain, real, whole
from minitopo_dc.scenario import Scenario

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
    with pytest.raises(SettingsError, match=r"scenario\.yaml:4: '.*' is no number in digits"):
        Scenario.load(file)


@pytest.mark.parametrize("value", [True, False, "1_0", " 10", "10 ", "010", "1e", "", "ten"])
@pytest.mark.parametrize("name", ["rate_mbps", "delay_ms", "queue_packets", "loss_percent"])
def test_what_is_no_number_is_no_number_of_a_leg(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"legs.0.downlink.{name}: .*no number in digits"):
        Scenario.check(
            {"transport": "quic", "mode": "sc", "legs": [{"downlink": {name: value}}]}, "s"
        )


class Numbers(Settings):
    """One field of each kind."""

    whole: int = 0
    real: float = 0.0
    either: int | None = None
    many: tuple[float, ...] = ()
    inner: Numbers | None = None


@pytest.mark.parametrize("value", [True, "0x1", "1_0", " 1"])
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


@pytest.mark.parametrize("text", ["- 1", "hello", "12", "true"])
def test_a_scenario_that_is_no_mapping_is_one_error(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(text, encoding="utf-8")
    assert cli.main(["run", str(file)]) == 2
    assert "unexpected" not in capsys.readouterr().err


def test_an_option_is_a_number_in_digits(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--clock", "virtual", "--seed", "1_0"]) == 2
    assert "--seed: no whole number in digits: '1_0'" in capsys.readouterr().err
