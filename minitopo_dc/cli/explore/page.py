"""The page: the verdict, fields to move and to type in, the picture, and words to take away."""

from __future__ import annotations

import html
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any, Final

import panel as pn

from minitopo_dc.campaign.store import load
from minitopo_dc.cli.explore import free_port, serve
from minitopo_dc.cli.explore.answer import Tab, comparisons, depends_on, draw, picture_of
from minitopo_dc.cli.explore.fields import (
    GREY,
    LABELS,
    RED,
    SMALL,
    ComparedFields,
    Fields,
    LegFields,
    TransferFields,
)
from minitopo_dc.cli.explore.form import REPEATED, Form, place_of, words_of_legs
from minitopo_dc.cli.options.rows import base_scenario
from minitopo_dc.cli.screen import new_directory, save_comparison
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.fields import SettingsError
from minitopo_dc.files import forget_runs
from minitopo_dc.runners.quic import transports_of
from minitopo_dc.runs.needs import cautions, primary_leg
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch_prefix
from minitopo_dc.ways import Comparison

UNJUDGED: Final = "No Dual Connectivity is set against multipath here."
RUNNING: Final = "running"
COPY = "navigator.clipboard.writeText(text.value)"
HEIGHT = 1300


class Page:
    """A page; `form` is what stands on it, `ways()` the scenarios that it is."""

    def __init__(self, form: Form) -> None:
        self.comparison: Comparison | None = None
        self._address = ""
        self._given, self._lock = _spelt(form), Lock()
        self._document, self._location = pn.state.curdoc, pn.state.location
        self._tab, self._saving = Tab(self._answer), Tab(self._save)
        numbers = range(len(self._given.words["legs"]))
        self.legs = [LegFields(number, self._given, self._ask) for number in numbers]
        self.transfer = TransferFields(self._given, self._ask)
        self.compared = ComparedFields(self._given, self._ask)
        self._groups: list[Fields] = [*self.legs, self.transfer, self.compared]
        self._make_answer()
        self.view = self._layout()
        self._ask()

    def _make_answer(self) -> None:
        self.verdict = pn.pane.HTML("", styles={"font-size": "18px", "font-weight": "600"})
        self.alone = pn.pane.HTML("", styles={"font-size": "14px"})
        self.error = pn.pane.HTML("", styles={"color": RED, "font-weight": "600"})
        self.time = pn.pane.HTML("", styles={**SMALL, "color": GREY}, css_classes=["time"])
        self.picture = pn.pane.SVG(None, width=900, encode=True)
        self.notes = pn.pane.HTML("", styles=SMALL, width=900)
        mono = ":host textarea { font-family: monospace; font-size: 12px }"
        self.words = {
            name: pn.widgets.TextAreaInput(value="", rows=12, width=900, stylesheets=[mono])
            for name in ("command line", "Python", "YAML")
        }
        self.save = pn.widgets.Button(label="save the results", width=140)
        self.saved = pn.pane.HTML("", styles=SMALL)
        self.save.on_click(self._saving.ask)
        self.asked = pn.widgets.Button(label="What does it depend on?", width=200)
        self.depends = pn.pane.HTML("", styles={"font-size": "14px"})
        self.asked.on_click(lambda _: self._ask(depends=True))

    def _layout(self) -> Any:
        tabs = pn.Tabs(*((name, self._copied(text)) for name, text in self.words.items()))
        return pn.Column(
            pn.Column(self.verdict, self.alone, self.error, self.time),
            pn.FlexBox(*(group.view for group in self._groups)),
            self.picture,
            self.notes,
            pn.Row(self.asked, self.depends),
            pn.Row(self.save, self.saved),
            tabs,
        )

    def _copied(self, text: Any) -> Any:
        button = pn.widgets.Button(label="copy", width=80)
        button.js_on_click(args={"text": text}, code=COPY)
        return pn.Column(button, text)

    @property
    def form(self) -> Form:
        """Return what stands on the page."""
        legs = [leg.words() for leg in self.legs]
        words = {name: [leg[name] for leg in legs] for name in LABELS}
        return self._given.changed(**words, **self.transfer.words(), **self.compared.words())

    def ways(self) -> dict[str, Scenario]:
        """Return the scenarios of the page by their names, for `dc.compare` and `dc.run`.

        Raises:
            InputError: a value on the page is wrong.
        """
        return self.form.ways()

    def plot(self) -> Any:
        """Draw what the page shows now; return Matplotlib's axes, to be changed as usual."""
        from matplotlib import pyplot  # noqa: PLC0415 (it looks for a screen)

        self.settle()
        if self.comparison is None:
            raise SettingsError("the page has no picture yet")
        return draw(self.comparison, pyplot.figure(layout="none"))

    def settle(self) -> None:
        """Wait until the picture is that of the newest change, and saved if that was asked."""
        self._tab.settle()
        self._saving.settle()

    def close(self) -> None:
        """End the work of the page, and remove its files."""
        self._tab.close()
        self._saving.close()
        self.settle()
        self._keep(None)

    def _ask(self, *_: Any, depends: bool = False) -> None:
        self._tab.ask((self.form, time.monotonic(), depends))

    def _answer(self, request: tuple[Form, float, bool], tab: Tab) -> None:
        """Run a form and show it, unless a newer one has come meanwhile."""
        form, since, depends = request
        try:
            ways, seeds = form.ways(), form.seeds()
            self.depends.object = "..." if depends else ""
            self._tell_problem("")
            self.time.object = RUNNING
            self._show_address(form.query())
            texts = form.command(), form.python(), form.yaml()
            for name, text in zip(self.words, texts, strict=True):
                self.words[name].value = text
            with tab.turn():
                self._show(ways, seeds, since)
                if depends and self.comparison is not None:
                    words = depends_on(self.comparison, ways, tab)
                    self.depends.object = html.escape(words or UNJUDGED)
        except MinitopoDcError as error:
            self._tell_problem(str(error))
        except CancelledError:
            raise
        except Exception as error:  # a thread's would be seen nowhere
            self._tell_problem(f"unexpected {type(error).__name__}: {error}; please report it")

    def _show_address(self, query: str) -> None:
        """Let the address of the browser's tab say what stands on the page."""
        location = self._location
        if location is not None and self._document is not None:
            self._document.add_next_tick_callback(lambda: location.param.update(search=query))

    def _show(self, ways: Mapping[str, Scenario], seeds: Sequence[int], since: float) -> None:
        """Show comparisons one after the other; each is the former with more runs."""
        place = Path(mkdtemp(prefix=scratch_prefix()))
        try:
            for comparison in comparisons(ways, seeds, place, self._tab):
                self._tell(comparison, since)
                self._keep(comparison)
                self.notes.object = "<br>".join(map(html.escape, _notes(comparison, ways)))
        finally:
            if self.comparison is None or self.comparison.directory != place:
                _remove(place)

    def _tell(self, comparison: Comparison, since: float) -> None:
        """Show the verdict, and the picture, which another process draws meanwhile."""
        with ThreadPoolExecutor(1) as beside:
            drawn = None if comparison.roles is not None else beside.submit(picture_of, comparison)
            self.verdict.object = html.escape(comparison.sentence)
            self.alone.object = "<br>".join(map(html.escape, _alone(comparison)))
            if drawn is not None:
                self.picture.object = drawn.result()
                self._tell_time(comparison.runs["seed"].nunique(), time.monotonic() - since)

    def _tell_time(self, seeds: int, passed_s: float) -> None:
        """Say how long the picture of one seed took, and then that of all."""
        first = f"{passed_s:.2f} s from the change to the picture"
        more = f"{self.time.object}, {passed_s:.2f} s to that of {seeds} seeds"
        self.time.object = first if seeds == 1 else more

    def _keep(self, comparison: Comparison | None) -> None:
        """Keep a comparison in place of the former one, whose files are removed."""
        with self._lock:
            former, self.comparison = self.comparison, comparison
            if former is not None and (
                comparison is None or comparison.directory != former.directory
            ):
                _remove(former.directory)

    def _save(self, _: Any, tab: Tab) -> None:
        """Copy the results to a directory as that of `compare`, with its figures."""
        try:
            with tab.turn(), self._lock:
                if self.comparison is None:
                    raise SettingsError("nothing to save yet")
                root = new_directory(None, "explore", make=False)
                shutil.copytree(self.comparison.directory, root)
                save_comparison(Comparison(load(root), root))
        except (MinitopoDcError, OSError) as error:
            self.saved.object = f"<span style='color:{RED}'>{html.escape(str(error))}</span>"
        else:
            self.saved.object = f"saved: <code>{html.escape(os.path.abspath(root))}</code>"  # noqa: PTH100

    def _tell_problem(self, message: str) -> None:
        """Show a problem beside its field, and above the picture; an empty one removes all."""
        self.error.object = html.escape(message)
        if message:
            self.time.object = ""
        option, leg = place_of(message)
        for number, group in enumerate(self._groups):
            for name, entry in group.entries.items():
                is_of_all = number >= len(self.legs)
                is_wrong = name == option and (
                    is_of_all or number == leg or (leg is None and f": {entry.value} " in message)
                )
                entry.problem.object = self.error.object if is_wrong else ""

    def __repr__(self) -> str:
        """Return what stands on the page, as a terminal and a code host show it."""
        return f"Page: {self.form.command()}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the page as a notebook shows it, from a server of this process."""
        if not self._address:
            self._address = serve(self.view, free_port(), shown=False, threaded=True)
        frame = f'<iframe src="{self._address}" width="100%" height="{HEIGHT}"></iframe>'
        return {"text/plain": repr(self), "text/html": frame}


def _remove(place: Path) -> None:
    """Remove runs, and what is kept of them beside their files."""
    shutil.rmtree(place, ignore_errors=True)
    forget_runs()


def _spelt(form: Form) -> Form:
    """Return a form with a word for each field of each leg, as the page has them."""
    words = words_of_legs(base_scenario(form.arguments()).legs)
    transports = form.words.get("transports") or tuple(
        name for stack in form.words.get("stacks", ("picoquic",)) for name in transports_of(stack)
    )
    fields = tuple(dict.fromkeys((*form.words.get(REPEATED, ()), *words[REPEATED])))
    return Form({**form.words, **words, REPEATED: fields, "transports": transports})


def _alone(comparison: Comparison) -> list[str]:
    """Return what one leg alone would do, and who is worse than that."""
    warnings = [finding.sentence for finding in comparison.findings if finding.warning]
    return [*comparison.better_legs[1], *warnings]


def _notes(comparison: Comparison, ways: Mapping[str, Scenario]) -> list[str]:
    """Return all other sentences, and what is to be known beside them."""
    shown, first = [comparison.sentence, *_alone(comparison)], next(iter(ways.values()))
    roles = [primary_leg(first.leg_numbers[0], first.primary_leg)] if len(first.legs) > 1 else []
    warned = [words for way in ways.values() for words in cautions(way)]
    lines = [*comparison.sentences, *roles, *warned, *comparison.not_ok()]
    return [line for line in dict.fromkeys(lines) if line not in shown]
