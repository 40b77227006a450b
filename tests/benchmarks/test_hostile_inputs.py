"""The inputs of `python -m benchmarks.hostile inputs`: right before they are changed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from benchmarks.hostile import inputs, stores
from benchmarks.hostile.kinds import given, recorded

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
    for module in (given, recorded):
        monkeypatch.setattr(module, "near_text", lambda _, text: text)
    monkeypatch.setattr(given, "garbled", lambda _, text: text)
    monkeypatch.setattr(given, "HOSTILE", ("1",))
    monkeypatch.setattr(given, "GARBLED", 0)
    monkeypatch.setattr(recorded, "GARBLED", 0)
    monkeypatch.setattr(recorded, "damaged", lambda _, capture: capture)
    monkeypatch.setattr(stores, "_damage", lambda *_: None)
    for seed in range(TRIED):
        place = tmp_path / str(seed)
        place.mkdir()
        case = inputs.attempt(kind, seed, place)
        assert (case.words, case.outcome) == ("", "accepted"), seed
