"""Figures as a journal prints them, from tables of runs and from the directories of runs.

    axes = plots.curves(runs, x="delay_ms", by="way")   # Matplotlib axes, to be changed as usual
    axes.figure.savefig("delay.pdf")

All take plain DataFrames, a row a run, and return Matplotlib axes. One order everywhere (one leg,
DC, multipath), one colour a way in all figures, no colour needed to read them.
"""

from __future__ import annotations

from minitopo_dc.plots.over_time import drive as drive
from minitopo_dc.plots.over_time import legs as legs
from minitopo_dc.plots.over_time import rates as rates
from minitopo_dc.plots.over_time import series as series
from minitopo_dc.plots.over_time import session as session
from minitopo_dc.plots.over_time import timeline as timeline
from minitopo_dc.plots.tables import bars as bars
from minitopo_dc.plots.tables import cdf as cdf
from minitopo_dc.plots.tables import comparison as comparison
from minitopo_dc.plots.tables import curves as curves
from minitopo_dc.plots.tables import map as map
from minitopo_dc.plots.tables import packets as packets
from minitopo_dc.plots.theme import Look as Look
from minitopo_dc.plots.theme import looks as looks
from minitopo_dc.plots.theme import ordered as ordered
from minitopo_dc.plots.theme import save as save
from minitopo_dc.plots.theme import style as style
from minitopo_dc.results.tables.runs import is_better_low as is_better_low
from minitopo_dc.results.tables.runs import label_of as label_of
from minitopo_dc.results.tables.runs import main_measure as main_measure
