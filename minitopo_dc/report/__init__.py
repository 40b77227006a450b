"""The page of a table of runs: figures, means, what failed, and the conditions."""

from __future__ import annotations

from minitopo_dc.report.page import as_markdown, write_report

__all__ = ["as_markdown", "write_report"]
