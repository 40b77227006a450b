"""Malformed input: refused in one clear message, never a traceback, never without an end."""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc import cli
from minitopo_dc.cli import trace as trace_command
from minitopo_dc.cli.screen import new_directory
from minitopo_dc.fields import SettingsError, read_yaml
from minitopo_dc.fields.base import Settings
from minitopo_dc.fields.yaml_text import MAX_CHARACTERS, MAX_DEPTH
from minitopo_dc.pdcp import PolicyError, TransmittingEntity, make_policy, sn_format, split_policy
from minitopo_dc.scenario import LegDirection, Scenario
from minitopo_dc.trace import TraceError, read_trace

RATE = "rate_mbps: .*allowed: 1e-06 to 1,000,000 Mbit/s"
LONGEST_MESSAGE = 5_000
"""Characters of a refusal, over all its lines."""
SCENARIO: dict[str, Any] = {
    "transport": "quic",
    "mode": "dc",
    "legs": [
        {"downlink": {"rate_mbps": 20, "outages": [[1, 2]]}},
        {"downlink": {"rate_mbps": 9, "rlc": {"mode": "am"}}},
        {"wifi": {"rate_mbps": 39, "hops": 2}},
    ],
    "pdcp": {"split": "threshold", "parameters": {"threshold_bytes": 3200}, "ratio": [1, 1]},
    "split_uplink": True,
    "uplink_pdcp": {"split": "duplicate"},
    "workload": {"kind": "request-response", "interval_s": 0.2, "count": 3},
    "options": {"max_data": 1_000_000},
    "virtual": {"udp_memory": "linux-4.15"},
    "mobility": [{"at_s": 1, "pscell_change": 2}],
}
HOSTILE: tuple[Any, ...] = (
    *(0, -1, 1, 2**31, 2**63, 10**30, 10**400, 1e-320, 1e308, 0.1, -0.0, 20_000_000),
    *(float("inf"), float("-inf"), float("nan"), "1e400", "nan", "1e999999", "-1", "9" * 5000),
    *(None, True, False, "", " ", "abc", "\0", "\ud800", "x" * 10_000, "²", "../..", "/dev/null"),
    *([], {}, [[]], [None], {"": {}}, {"a": 1}, [1, 2, 3], "=1/0", "=9**9**9", "=x", "$y", "*"),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container at any depth, with each of its keys."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from places(inner)


@settings(derandomize=True, max_examples=300)
@given(value=st.sampled_from(HOSTILE), place=st.integers(0, len(list(places(SCENARIO))) - 1))
def test_no_value_of_a_scenario_raises_anything_but_a_settings_error(
    value: Any, place: int
) -> None:
    changed = copy.deepcopy(SCENARIO)
    container, key = list(places(changed))[place]
    container[key] = value
    try:
        Scenario.check(changed, "scenario")
    except SettingsError as error:
        assert 0 < len(str(error)) < LONGEST_MESSAGE


@settings(derandomize=True)
@given(value=st.sampled_from(HOSTILE), field=st.sampled_from(sorted(LegDirection.model_fields)))
def test_no_value_of_a_leg_raises_anything_but_a_settings_error(value: Any, field: str) -> None:
    given_fields = {"rate_mbps": 1} if field != "trace" else {}
    try:
        LegDirection.check({**given_fields, field: value}, "leg").build("1")
    except (SettingsError, TraceError) as error:
        assert str(error)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400, 1e308, 1e-320, 2e7, -1, 0])
def test_a_rate_outside_its_range_is_told_the_range(value: float) -> None:
    with pytest.raises(SettingsError, match=RATE) as caught:
        LegDirection.check({"rate_mbps": value}, "leg")
    assert value != 2e7 or "is it in bit/s?" in str(caught.value)


LEVELS = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "key 'a' stands twice"),
        ("a:\n  b: 1\n  b: 1\n", 3, "key 'b' stands twice"),
        ("a: 2001-99-99\n", 1, "'2001-99-99' is no timestamp"),
        ("\na: !!int abc\n", 2, "'abc' is no number in digits"),
        ("a: " + "[" * (MAX_DEPTH + 1), 1, "nested too deeply; allowed: 50 levels"),
        ("a: " + "[" * 100_000, 1, "nested too deeply"),
        ("a: &a [*a]\n", 1, "an alias stands for what it is in itself"),
        ("\n".join(["a0: &a0 [1, 2]", *LEVELS]), 7, "aliases for too much"),
        ("a: " + "x" * MAX_CHARACTERS, None, "too long; allowed: 500,000 characters"),
        ("a: !!binary aaaa\n", 1, "binary: no value that a file here can hold"),
        ('a: 1\nb: "\\ud800"\n', 2, "found invalid Unicode character"),
        ('a: 1\n"\\udfff": 2\n', 2, "found invalid Unicode character"),
    ],
)
def test_wrong_yaml_is_refused_with_its_line(
    text: str, line: int | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read_yaml(path)
    place = path if line is None else f"{path}:{line}"
    assert str(caught.value).startswith(f"{place}: {words}")


def test_a_merged_key_may_be_named_again(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  a: 3\n")
    assert read_yaml(path)["y"] == {"a": 3, "b": 2}


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "x" * 5000])
def test_a_path_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"leg: trace: .*no path"):
        LegDirection.check({"trace": name}, "leg")
    with pytest.raises(SettingsError):
        Settings.load(Path(name))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1e999999\n1,\n", ":1: '1e999999' is out of range"),
        ("1e999999,1\n", ":1: '1e999999' is out of range"),
        ("0,20000000\n1,\n", ":1: 20000000 Mbit/s .*allowed: 0 to 1,000,000 Mbit/s; is it in bit"),
        (f"0,{'9' * 140_000}\n", r":1: 140,002 characters \(allowed: 100,000 characters a line\)"),
        ("0,1\n31536000,1\n", "lasts 6.3072e.07 s .*allowed: up to 604,800 s"),
        ("1000000000000\n", r"lasts 1e\+09 s"),
        ("9" * 100, "one whole number of ms a line"),
    ],
)
def test_a_trace_beyond_use_is_refused_with_its_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=words):
        read_trace(path)


@split_policy("test-hostile")
class _Hostile:
    """Raises what it is told to, or answers it."""

    def __init__(self, _legs: int, *, answer: Any = None, error: str = "") -> None:
        if error == "init":
            raise LookupError("not made")
        self._answer, self._error = answer, error

    def legs(self, **_: Any) -> Any:
        if self._error:
            raise KeyError(self._error)
        return self._answer


def test_an_error_while_a_policy_is_made_names_the_policy() -> None:
    with pytest.raises(PolicyError, match="'test-hostile': LookupError: not made"):
        make_policy("test-hostile", legs=2, error="init")


def test_an_error_of_a_policy_names_the_policy_and_the_line() -> None:
    policy = make_policy("test-hostile", legs=2, error="x" * 10_000)
    entity: TransmittingEntity[bytes] = TransmittingEntity(sn_format(18), policy, legs=2)
    with pytest.raises(
        PolicyError, match=r"'test-hostile': KeyError: 'x+ \(.*\.py:\d+\)"
    ) as caught:
        entity.push(b"", 100, 0)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("answer", [None, 1, (2,), (-1,), ("a",), (0.5,), ([],)])
def test_an_answer_of_a_policy_that_names_no_legs_is_refused(answer: Any) -> None:
    policy = make_policy("test-hostile", legs=2, answer=answer)
    entity: TransmittingEntity[bytes] = TransmittingEntity(sn_format(18), policy, legs=2)
    with pytest.raises(PolicyError, match="0 to 1"):
        entity.push(b"", 100, 0)


def test_an_error_that_nobody_foresaw_is_one_line_and_keeps_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: object) -> int:
        raise OverflowError("beyond\nall")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(trace_command, "execute", fail)
    assert cli.main(["trace", "info", "x"]) == 1
    message = capsys.readouterr().err
    [kept] = tmp_path.iterdir()
    assert message.startswith(
        "minitopo-dc: unexpected OverflowError: beyond all; its traceback is in"
    )
    assert message.count("\n") == 1
    assert "OverflowError" in kept.read_text()


def test_a_long_wrong_value_is_not_quoted_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--workload", "x" * 10_000, "--clock", "virtual"]) == 2
    assert len(capsys.readouterr().err) < 1_100


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a\0b", "null byte"),
        ("a\ud800b", "surrogates not allowed"),
        ("x" * 5000, "File name too long"),
        ("loop", "Too many levels of symbolic links"),
        ("", "no regular file"),
        ("/dev/zero", "no regular file"),
        ("long", "longer than 2,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "long").write_bytes(bytes(2_000_001))
    with pytest.raises(SettingsError, match=words) as caught:
        read_yaml(tmp_path / name)
    assert len(str(caught.value)) < 500


def test_two_commands_of_one_second_have_a_directory_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda _: "compare-now")
    made = [new_directory(None, "compare").name for _ in range(3)]
    assert made == ["compare-now", "compare-now-2", "compare-now-3"]
    with pytest.raises(SettingsError, match=r"--output: .*compare-now"):
        new_directory(tmp_path / "results" / "compare-now", "compare")
