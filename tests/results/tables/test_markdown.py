"""A page of Markdown has the texts and tables of sections."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from minitopo_dc.results.tables.markdown import as_markdown


def test_a_page_of_markdown_has_texts_and_tables_and_no_figures() -> None:
    table = pd.DataFrame({"way": ["DC | 1:1", "MP-QUIC"], "Mbit/s": [12.3456, float("nan")]})
    sections = [("First", ["One.\n\nTwo.", table]), ("Drawn", Figure()), ("Last", "Three.")]
    assert as_markdown("Page", "Of\nit.", sections) == (
        "# Page\n\nOf it.\n\n## First\n\nOne.\n\nTwo.\n\n"
        "| way | Mbit/s |\n| --- | --- |\n| DC \\| 1:1 | 12.3 |\n| MP-QUIC |  |\n\n"
        "## Last\n\nThree.\n"
    )
    cases = pd.DataFrame({"n": [1]}, index=pd.Index(["sp"], name="case"))
    assert "| case | n |\n| --- | --- |\n| sp | 1 |" in as_markdown("P", "", [("S", cases)])
