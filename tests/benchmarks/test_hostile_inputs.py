"""The inputs of `python -m benchmarks.hostile inputs`: right before they are changed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from benchmarks.hostile import inputs, mutations, stores
from benchmarks.hostile.kinds import captures, given, recorded

LEG = {"rate_mbps": 20, "outages": [[1, 2]], "jitter": "normal"}
TRIED = 12
"""Seeds: each base is chosen by one of them."""


@pytest.mark.parametrize("kind", [each for each in inputs.KINDS if each != "element-process"])
def test_every_input_is_right_unless_it_is_changed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused is refused for its change."""

    def written(_: Random, document: Any, path: Path, __: Any) -> Path:
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    monkeypatch.setattr(given, "written", written)
    monkeypatch.setattr(given, "near_text", lambda _, text: text)
    monkeypatch.setattr(given, "garbled", lambda _, text: text)
    monkeypatch.setattr(given, "HOSTILE", ("1",))
    monkeypatch.setattr(given, "GARBLED", 0)
    monkeypatch.setattr(recorded, "damaged", lambda _, capture: capture)
    monkeypatch.setattr(stores, "_damage", lambda *_: None)
    for seed in range(TRIED):
        place = tmp_path / str(seed)
        place.mkdir()
        case = inputs.attempt(kind, seed, place)
        assert (case.words, case.outcome) == ("", "accepted"), seed


def test_most_changes_are_of_one_value_at_any_depth_and_keep_the_rest() -> None:
    rng, places = Random(1), set()
    for _ in range(300):
        changed = mutations.with_near_misses(rng, {"a": 1, "legs": [LEG]}, {})
        places |= {key for key in LEG if changed.get("legs", [LEG])[0].get(key) != LEG[key]}
        assert set(changed) & {"a", "legs"}
    assert places == set(LEG)


def test_what_is_right_elsewhere_is_tried_too() -> None:
    known = mutations.vocabulary([{"jitter": "uniform"}, {"legs": [LEG]}])
    assert known["outages"] == [1, 2]
    tried = {repr(mutations.near_miss(Random(n), "normal", known["jitter"])) for n in range(1000)}
    assert {"'uniform'", "['normal']", "''"} <= tried


def test_one_word_of_a_text_changes() -> None:
    for seed in range(100):
        parts = mutations.near_text(Random(seed), "path:10,20").split(":")
        assert parts[0] == "path" or parts[-1] == "10,20"


def test_a_capture_is_changed_in_few_places(tmp_path: Path) -> None:
    captures.tcp_run(tmp_path / "run")
    whole = (tmp_path / "run" / "server.pcap").read_bytes()
    for seed in range(100):
        changed = captures.damaged(Random(seed), whole)
        differ = sum(a != b for a, b in zip(changed, whole, strict=False))
        assert differ <= 8
        assert len(changed) <= len(whole)
