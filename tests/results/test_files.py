"""Tests of the reader of runs' CSV files: the quick way for whole numbers is that of any table."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc.results.files import ResultError, read_csv

WHOLE = {
    "as the elements write it": "time_ns,leg\r\n1000000000,1\r\n-5,2\r\n",
    "without a last line's end": "a,b\n1,2\n3,4",
    "more digits than a float holds": f"a\n{2**63 - 1}\n{-(2**63)}\n",
    "one column and an empty line": "a\n1\n\n2\n",
}
OTHER = {
    "no rows": "a,b\n",
    "an empty field": "a,b\n1,\n,2\n",
    "a fraction": "a,b\n1,0.5\n",
    "a word": "a,b\n1,open\n",
    "more than 64 bits": f"a\n{2**64}\n",
    "a minus within": "a\n1-2\n",
    "a name twice": "a,a\n1,2\n",
    "a quoted name": '"a,b",c\n1,2\n',
    "rows shorter than the header": "a,b\n1\n2\n",
}


@pytest.mark.parametrize("text", [*WHOLE.values(), *OTHER.values()], ids=[*WHOLE, *OTHER])
def test_a_table_is_what_pandas_reads(tmp_path: Path, text: str) -> None:
    path = tmp_path / "series.csv"
    path.write_bytes(text.encode())
    expected = pd.read_csv(io.StringIO(text), index_col=False)
    pd.testing.assert_frame_equal(read_csv(tmp_path, path), expected)


@pytest.mark.parametrize("text", ["", "a,b\n1,2,3\n", "a,b\n1,2\n1,2,3\n"])
def test_no_table_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "series.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultError, match=r"series\.csv: "):
        read_csv(tmp_path, path)
