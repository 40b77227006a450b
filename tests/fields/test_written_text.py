"""Settings as YAML and results as JSON: the text that a file gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc.fields.yaml_text import dump_yaml, parse_yaml
from minitopo_dc.files import write_json

VALUES: dict[str, Any] = {
    **{"whole": 1, "real": 1.5, "large": 1e22, "small": 1e-7, "yes": True, "none": None},
    **{"list": [1, {"within": []}], "empty": {}, "words": "é: x", "digits": "010", "line": "\n"},
}


def test_a_mapping_is_written_as_pyyaml_writes_it_and_read_as_it_was() -> None:
    text = dump_yaml(VALUES)
    assert text == yaml.safe_dump(VALUES, sort_keys=False, allow_unicode=True)
    assert parse_yaml(text) == VALUES


def test_a_mapping_without_entries_is_written_as_one() -> None:
    assert parse_yaml(dump_yaml({})) == {}


@pytest.mark.parametrize("value", [VALUES, {"half": "\ud800"}, [float("inf"), 2**70]])
def test_json_is_read_as_it_was_also_with_half_a_character(value: object, tmp_path: Path) -> None:
    write_json(tmp_path / "value.json", value)
    assert json.loads((tmp_path / "value.json").read_text()) == value
