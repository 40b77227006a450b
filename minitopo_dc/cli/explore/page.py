"""The page: the verdict, fields to move and to type in, the picture, and words to take away."""

from __future__ import annotations

import html
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any, Final, get_args

import panel as pn

from minitopo_dc import linux_guest, plots
from minitopo_dc.campaign.store import load
from minitopo_dc.cli.explore import free_port, serve
from minitopo_dc.cli.explore.answer import Tab, comparisons, depends_on, draw, picture_of
from minitopo_dc.cli.explore.form import (
    CARRIERS,
    REPEATED,
    SAMPLED,
    T_REORDERING,
    TRACES,
    Form,
    place_of,
    words_of_legs,
)
from minitopo_dc.cli.options import BOTH, CONTROL, REPETITIONS
from minitopo_dc.cli.options.rows import base_scenario
from minitopo_dc.cli.screen import new_directory, save_comparison
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.fields import SettingsError
from minitopo_dc.numbers import is_plain
from minitopo_dc.pdcp.policies.policy import policy_names
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runners.quic import stacks_of, transports_of
from minitopo_dc.runs.needs import cautions, primary_leg
from minitopo_dc.scenario import LegDirection, Scenario
from minitopo_dc.scenario.presets import NAMES
from minitopo_dc.scratch import scratch_prefix
from minitopo_dc.ways import Comparison

RATE: Final = "rate"
"""The capacity of a leg that is a number, in place of the name of a trace or carrier."""
STEPS: Final[Mapping[str, Sequence[float]]] = {
    "legs": (0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500),
    "delay": (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300),
    "jitter": (0, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50),
    "loss": (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10),
    "queue": (5, 10, 20, 50, 75, 100, 150, 200, 300, 500, 1000, 2000),
    "size": (0.1, 0.2, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50),
    "xn": (0, 1, 2, 5, 10, 15, 20, 30, 50),
    "repetitions": (1, 2, 3, 4, 5, 7, 10),
}
"""Where the sliders may stand; what is typed may be any value of a field's range."""
DEFAULTS: Final = {"delay": "10", "jitter": "1", "loss": "0", "queue": "100"}
LABELS: Final = {"legs": "rate (Mbit/s)", **{n: plots.label_of(f) for n, (f, *_) in BOTH.items()}}
WORKLOADS: Final[Mapping[str, str]] = {
    "download": "download",
    "upload": "upload",
    "both": "both",
    "request-response": "request-response:duration_s=10",
    "under-load": "under-load:duration_s=10",
    "video": "video:duration_s=20",
    "realtime": "realtime:duration_s=5",
}
"""What is transferred, with lengths that answer soon."""
SIZED: Final = ("download", "upload", "both")
KERNEL: Final = {"Linux: TCP and MPTCP": ("tcp", "mptcp")}
ATSSS: Final = ("sc", "dc", "atsss", "multipath")
UNJUDGED: Final = "No Dual Connectivity is set against multipath here."
RED, GREY = plots.theme.LOST, plots.theme.LINE
RUNNING: Final = "running"
SMALL: Final = {"font-size": "12px", "margin": "0"}
COPY = "navigator.clipboard.writeText(text.value)"
WIDTH, HEIGHT = 300, 1300


class Number:
    """A number that can be moved and typed, with its unit and range; a problem stands beside it.

    Args:
        key: the option, `-` and the leg: the field's name in the page's markup.
        label: the name that is shown, with the unit.
        text: what stands there at first.
        allowed: the range in words.
        change: is called after each change.
    """

    def __init__(
        self,
        key: str,
        label: str,
        text: str,
        allowed: str,
        change: Callable[[], None],
    ) -> None:
        steps = STEPS[key.partition("-")[0]]
        self._steps, self._change, self._is_following = steps, change, False
        self.slider = pn.widgets.DiscreteSlider(
            label="",
            options={f"{step:g}": step for step in steps},
            value=min(steps, key=lambda step: abs(step - self._number(text, steps[0]))),
            show_value=False,
            width=WIDTH - 110,
            margin=(10, 5),
            css_classes=[key],
        )
        field = {"value": text, "placeholder": allowed, "width": 90, "margin": (0, 5)}
        self.text = pn.widgets.TextInput(label="", css_classes=[key], **field)
        self.problem = pn.pane.HTML("", styles={**SMALL, "color": RED}, width=WIDTH, margin=0)
        note = f" <span style='color:{GREY}'>{html.escape(allowed)}</span>" if allowed else ""
        title = pn.pane.HTML(f"{html.escape(label)}{note}", styles=SMALL, margin=(0, 5))
        self.view = pn.Column(title, pn.Row(self.slider, self.text), self.problem, margin=(2, 8))
        self.slider.param.watch(self._moved, "value_throttled")
        self.text.param.watch(self._typed, "value")

    @property
    def value(self) -> str:
        """Return the words that stand there."""
        return str(self.text.value).strip()

    def show(self, text: str) -> None:
        """Show other words without telling of a change."""
        self._is_following = True
        self.text.value = text
        self._follow()
        self._is_following = False

    def enable(self, *, enabled: bool) -> None:
        """Let it be moved and typed, or not."""
        self.slider.disabled = self.text.disabled = not enabled

    @staticmethod
    def _number(text: str, default: float) -> float:
        return float(text) if is_plain(text) else default

    def _follow(self) -> None:
        number = self._number(self.value, self.slider.value)
        self.slider.value = min(self._steps, key=lambda step: abs(step - number))

    def _moved(self, event: Any) -> None:
        if not self._is_following:
            self.text.value = f"{event.new:g}"

    def _typed(self, _: Any) -> None:
        if self._is_following:
            return
        self._is_following = True
        self._follow()
        self._is_following = False
        self._change()


class LegFields:
    """What stands in the column of one leg."""

    def __init__(self, number: int, form: Form, change: Callable[[], None]) -> None:
        word = form.legs[number]
        trace = next((name for name, path in TRACES.items() if path == word), word)
        names = [RATE, *TRACES, *CARRIERS]
        kind = RATE if is_plain(word) else trace
        self._kept = {} if kind in names else {kind: word}
        self.capacity = pn.widgets.Select(
            label=f"leg {number + 1}",
            options=[*names, *self._kept],
            value=kind,
            width=WIDTH - 20,
        )
        self.numbers: dict[str, Number] = {}
        for name in LABELS:
            text = form.of_legs(name, DEFAULTS.get(name, ""))[number]
            text = text if name != "legs" or kind == RATE else "40"
            label, allowed = LABELS[name], _allowed(name)
            key = f"{name}-{number + 1}"
            self.numbers[name] = Number(key, label, text, allowed, change)
        self._change = change
        self._enable()
        if any(field.startswith(f"legs.{number}=") for field in form.words.get(REPEATED, ())):
            for one in self.numbers.values():  # which would change nothing
                one.enable(enabled=False)
        self.capacity.param.watch(self._chosen, "value")
        self.view = pn.Column(self.capacity, *(one.view for one in self.numbers.values()))

    def words(self) -> dict[str, str]:
        """Return the words of the leg by their options."""
        words = {name: number.value for name, number in self.numbers.items()}
        kind = str(self.capacity.value)
        if kind != RATE:
            words["legs"] = self._kept.get(kind) or TRACES.get(kind, kind)
        return words

    def _enable(self) -> None:
        self.numbers["legs"].enable(enabled=self.capacity.value == RATE)

    def _chosen(self, _: Any) -> None:
        """Show what a carrier is beside its rate, which can be changed then."""
        self._enable()
        if self.capacity.value in CARRIERS:
            carrier = Form({"legs": (str(self.capacity.value),)})
            for name, words in words_of_legs(base_scenario(carrier.arguments()).legs)[0].items():
                if name in BOTH:
                    self.numbers[name].show(words[0])
        self._change()


def _allowed(name: str) -> str:
    """Return the range of an option of a leg in words."""
    field = LegDirection.model_fields["rate_mbps" if name == "legs" else BOTH[name][0]]
    number = next(iter(get_args(field.annotation)), None)  # that of `Count | None`
    parts = (field, *getattr(number, "__metadata__", ()))
    return next(filter(None, (getattr(part, "description", None) for part in parts)), "")


class Page:
    """A page; `form` is what stands on it, `ways()` the scenarios that it is."""

    def __init__(self, form: Form) -> None:
        self.comparison: Comparison | None = None
        self._address = ""
        self._given, self._lock = form, Lock()
        self._document, self._location = pn.state.curdoc, pn.state.location
        self._tab, self._saving = Tab(self._answer), Tab(self._save)
        self._make_fields(_spelt(form))
        self._make_answer()
        self.view = self._layout()
        self._changed()

    def _make_fields(self, form: Form) -> None:
        self._legs = [LegFields(number, form, self._changed) for number in range(len(form.legs))]
        words = {name: value[0] for name, value in form.words.items() if value}
        kind, _, rest = words.get("workload", "download").partition(":")
        kinds = [*WORKLOADS, *([kind] if kind not in WORKLOADS else [])]
        self.workload = pn.widgets.Select(
            label="what is transferred", options=kinds, value=kind, width=WIDTH - 20
        )
        self.more = self._text("its fields", rest, "KEY=VALUE,KEY=VALUE")
        self.size = Number("size", "size (MB)", words.get("size", "10"), "above 0", self._changed)
        controls = list(get_runner(form.words["transports"][0]).congestion_controls)
        control = words.get("congestion-control", CONTROL)
        self.control = pn.widgets.Select(
            label="congestion control",
            options=list(dict.fromkeys([*controls, control])),
            value=control,
            width=WIDTH - 20,
        )
        self.seeds = Number(
            "repetitions", "seeds", words.get("repetitions", "3"), REPETITIONS, self._changed
        )
        self.seed = self._text("first seed", words.get("seed", "1"), "1")
        self._make_compared(form, words)
        for widget in (self.control, self.duals, self.stacks, self.atsss):
            widget.param.watch(self._changed, "value")
        self.workload.param.watch(self._workload_chosen, "value")
        self._workload_enable()

    def _make_compared(self, form: Form, words: Mapping[str, str]) -> None:
        """Make the fields for what is compared."""
        duals = [*form.words.get("split", form.words.get("dc", ("papers", "deployable")))]
        names = dict.fromkeys([*NAMES, *policy_names(), *duals])
        self.duals = pn.widgets.MultiChoice(
            label="Dual Connectivity: by name, or split policies",
            options=[*names],
            value=duals,
            width=WIDTH - 20,
        )
        self.xn = Number("xn", "Xn (ms)", words.get("xn", "5"), _allowed("delay"), self._changed)
        fields = dict(field.partition("=")[::2] for field in form.words.get(REPEATED, ()))
        self.timer = self._text(
            "t-Reordering (ms)", fields.pop(T_REORDERING, ""), "as the DC has it"
        )
        self._sampled = fields.pop(*SAMPLED)
        self.others = self._text(
            "other fields",
            " ".join(f"{key}={value}" for key, value in fields.items()),
            "FIELD=VALUE",
        )
        self._pairs = {name: transports_of(name) for name in stacks_of()}
        self._pairs |= {} if linux_guest.obstacle() else KERNEL
        stacks = [
            name for name, pair in self._pairs.items() if {*pair} <= {*form.words["transports"]}
        ]
        taken = {name for stack in stacks for name in self._pairs[stack]}
        self._transports = [name for name in form.words["transports"] if name not in taken]
        self.stacks = pn.widgets.MultiChoice(
            label="stacks", options=[*self._pairs], value=stacks, width=WIDTH - 20
        )
        self.atsss = pn.widgets.Checkbox(
            label="ATSSS", value="atsss" in form.words.get("modes", ())
        )

    def _text(self, label: str, value: str, placeholder: str) -> Any:
        field = pn.widgets.TextInput(
            label=label, value=value, placeholder=placeholder, width=WIDTH - 20
        )
        field.param.watch(self._changed, "value")
        return field

    def _make_answer(self) -> None:
        self.verdict = pn.pane.HTML("", styles={"font-size": "18px", "font-weight": "600"})
        self.alone = pn.pane.HTML("", styles={"font-size": "14px"})
        self.error = pn.pane.HTML("", styles={"color": RED, "font-weight": "600"})
        self.problems = pn.pane.HTML("", styles={**SMALL, "color": RED})
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
        transfer = [
            self.workload,
            self.size.view,
            self.more,
            self.control,
            self.seeds.view,
            self.seed,
        ]
        compared = [self.duals, self.xn.view, self.timer, self.stacks, self.atsss, self.others]
        columns = [leg.view for leg in self._legs]
        columns += [pn.Column(*transfer), pn.Column(*compared, self.problems)]
        tabs = pn.Tabs(*((name, self._copied(text)) for name, text in self.words.items()))
        above = pn.Column(self.verdict, self.alone, self.error, self.time)
        return pn.Column(
            above,
            pn.FlexBox(*columns),
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
        legs = [leg.words() for leg in self._legs]
        words = {name: [leg[name] for leg in legs] for name in LABELS}
        kind, more = str(self.workload.value), str(self.more.value).strip()
        own = f"{kind}:{more}" if more else kind
        size = [self.size.value] if kind == "download" else []
        if kind in SIZED[1:]:
            own = f"{kind}:{','.join(filter(None, [f'size_mb={self.size.value}', more]))}"
        duals = [*self.duals.value]
        is_named = {*duals} <= {*NAMES}
        fields = [f"{T_REORDERING}={self.timer.value}"] if self.timer.value else []
        fields += [*str(self.others.value).split(), f"{SAMPLED[0]}={self._sampled}"]
        transports = [name for stack in self.stacks.value for name in self._pairs[stack]]
        return self._given.changed(
            **words,
            size=size,
            workload=[] if own == "download" else [own],
            congestion_control=[] if self.control.value == CONTROL else [self.control.value],
            repetitions=[self.seeds.value],
            seed=[] if self.seed.value == "1" else [self.seed.value],
            dc=duals if is_named else [],
            split=[] if is_named else duals,
            xn=[self.xn.value] if "deployable" in duals else [],
            stacks=[],
            transports=[*transports, *self._transports],
            modes=ATSSS if self.atsss.value else [],
            **{REPEATED: fields},
        )

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

    def _workload_enable(self) -> None:
        self.size.enable(enabled=self.workload.value in SIZED)

    def _workload_chosen(self, _: Any) -> None:
        self._workload_enable()
        rest = WORKLOADS.get(str(self.workload.value), "").partition(":")[2]
        if rest == self.more.value:
            self._changed()
        self.more.value = rest

    def _changed(self, *_: Any) -> None:
        self._ask(depends=False)

    def _ask(self, *, depends: bool) -> None:
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
            self._tell_problem(str(error), form)
        except CancelledError:
            raise
        except Exception as error:  # a thread's would be seen nowhere
            words = f"unexpected {type(error).__name__}: {error}; please report it"
            self._tell_problem(words)

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
                self.notes.object = "<br>".join(map(html.escape, _notes(comparison)))
        finally:
            if self.comparison is None or self.comparison.directory != place:
                shutil.rmtree(place, ignore_errors=True)

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
                shutil.rmtree(former.directory, ignore_errors=True)

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

    def _tell_problem(self, message: str, form: Form | None = None) -> None:
        """Show a problem beside its field, or above the picture; an empty one removes all."""
        for number in [
            *(n for leg in self._legs for n in leg.numbers.values()),
            *self._single.values(),
        ]:
            number.problem.object = ""
        self.error.object = html.escape(message)
        if not message:
            return
        self.time.object = ""
        option, leg = place_of(message)
        if option in LABELS and form is not None:
            texts = form.of_legs(option, "")
            places = [n for n, text in enumerate(texts) if f": {text} " in message]
            place = leg if leg is not None else next(iter(places), 0)
            self._legs[place].numbers[option].problem.object = html.escape(message)
        elif option in self._single:
            self._single[option].problem.object = html.escape(message)

    @property
    def _single(self) -> dict[str, Number]:
        return {"size": self.size, "xn": self.xn, "repetitions": self.seeds}

    def __repr__(self) -> str:
        """Return what stands on the page, as a terminal and a code host show it."""
        return f"Page: {self.form.command()}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the page as a notebook shows it, from a server of this process."""
        if not self._address:
            self._address = serve(self.view, free_port(), shown=False, threaded=True)
        frame = f'<iframe src="{self._address}" width="100%" height="{HEIGHT}"></iframe>'
        return {"text/plain": repr(self), "text/html": frame}


def _spelt(form: Form) -> Form:
    """Return a form with a word for each field of each leg, as the page has them."""
    words, others = words_of_legs(base_scenario(form.arguments()).legs)
    kept = {name: value for name, value in form.words.items() if name not in words}
    transports = form.words.get("transports") or tuple(
        name for stack in form.words.get("stacks", ("picoquic",)) for name in transports_of(stack)
    )
    fields = [*form.words.get(REPEATED, ()), *others]
    return Form({**kept, **words, REPEATED: tuple(dict.fromkeys(fields)), "transports": transports})


def _alone(comparison: Comparison) -> list[str]:
    """Return what one leg alone would do, and who is worse than that."""
    warnings = [finding.sentence for finding in comparison.findings if finding.warning]
    return [*comparison.better_legs[1], *warnings]


def _notes(comparison: Comparison) -> list[str]:
    """Return all other sentences, and what is to be known beside them."""
    shown = [comparison.sentence, *_alone(comparison)]
    lines = [line for line in comparison.sentences if line not in shown]
    scenarios = [load_as_run(Path(run)) for run in comparison.results["directory"].unique()[:8]]
    lines += [primary_leg(scenarios[0])] if len(scenarios[0].legs) > 1 else []
    lines += [words for scenario in scenarios for words in cautions(scenario)]
    return [*dict.fromkeys([*lines, *comparison.not_ok()])]
