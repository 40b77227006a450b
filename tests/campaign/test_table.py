"""Tables that are small as files and large in memory."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc import InputError
from minitopo_dc.campaign import store
from minitopo_dc.campaign.store import read_table

TEXT = "x" * 1000


def written(directory: Path, rows: int) -> Path:
    """A table of two columns, of which a file has the one value of each once."""
    path = directory / "runs.parquet"
    pd.DataFrame({"seed": [1] * rows, "reason": [TEXT] * rows}).to_parquet(path, index=False)
    assert path.stat().st_size < 8000
    return path


def test_a_table_within_the_limits_is_read_as_it_was_written(tmp_path: Path) -> None:
    runs = read_table(written(tmp_path, 2))
    assert runs.to_dict("list") == {"seed": [1, 1], "reason": [TEXT, TEXT]}


@pytest.mark.parametrize(
    ("limit", "allowed", "words"),
    [
        ("MAX_VALUES", 1999, "2,000 values when unpacked; allowed: up to 1,999"),
        ("MAX_TABLE", 900_000, "1,000,000 bytes of text when unpacked; allowed: up to 900,000"),
    ],
)
def test_a_table_is_refused_by_its_size_in_memory_before_it_is_read(
    limit: str, allowed: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, 1000)
    monkeypatch.setattr(store, limit, allowed)
    monkeypatch.setattr(pd, "read_parquet", None)
    with pytest.raises(InputError, match=rf"runs\.parquet: {words}"):
        read_table(path)


def test_numbers_that_are_many_bytes_unpacked_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.parquet"
    zeros = pd.DataFrame({"goodput_mbps": [0.0] * 10_000})
    zeros.to_parquet(path, index=False, compression="zstd", use_dictionary=False)
    monkeypatch.setattr(store, "MAX_TABLE", 60_000)
    with pytest.raises(InputError, match=r"runs\.parquet: 80,\d{3} bytes"):
        read_table(path)
