"""The fields of the page, whose groups make words of options of `compare` (`Form`)."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, get_args

import panel as pn

from minitopo_dc import linux_guest, plots
from minitopo_dc.cli.explore.form import (
    CARRIERS,
    REPEATED,
    T_REORDERING,
    TRACES,
    Form,
    words_of_legs,
)
from minitopo_dc.cli.options import BOTH, CONTROL, REPETITIONS
from minitopo_dc.numbers import is_plain
from minitopo_dc.pdcp.policies.policy import policy_names
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runners.quic import stacks_of, transports_of
from minitopo_dc.scenario import Leg, LegDirection
from minitopo_dc.scenario.presets import NAMES

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
LABELS: Final = {"legs": "rate (Mbit/s)", **{n: plots.label_of(f) for n, f in BOTH.items()}}
SIZED: Final = ("download", "upload", "both")
WORKLOADS: Final = dict.fromkeys(SIZED, "") | {
    **{"request-response": "duration_s=10", "under-load": "duration_s=10"},
    **{"video": "duration_s=20", "realtime": "duration_s=5"},
}
"""What is transferred, with lengths that answer soon."""
KERNEL: Final = {"Linux: TCP and MPTCP": ("tcp", "mptcp")}
MODES: Final = ("sc", "dc", "multipath")
"""Beside which ATSSS is shown, of whoever names no modes."""
NEXT: Final = re.compile(r"\s+(?=[\w.*]+=)")
"""What is between two fields; values may have spaces, too: `legs.1={"wifi": {}}`."""
RED, GREY = plots.theme.LOST, plots.theme.LINE
SMALL: Final = {"font-size": "12px", "margin": "0"}
WIDTH: Final = 300
Change = Callable[..., None]


class Entry:
    """What can be typed, and moved where it has `STEPS`; a problem stands beside it.

    Args:
        key: the option, of a leg with `-` and its number: the field's name in the page's markup.
        words: the name that is shown, with the unit, and what is allowed.
        text: what stands there at first.
        change: is called after each change.
    """

    def __init__(self, key: str, words: tuple[str, str], text: str, change: Change) -> None:
        self._change, self._is_shown = change, False
        self._steps = STEPS.get(key.partition("-")[0], ())
        label, allowed = map(html.escape, words)
        width = 90 if self._steps else WIDTH - 20
        field = {"value": text, "placeholder": words[1], "width": width, "margin": (0, 5)}
        self.text = pn.widgets.TextInput(label="", css_classes=[key], **field)
        self.problem = pn.pane.HTML("", styles={**SMALL, "color": RED}, width=WIDTH, margin=0)
        title = f"{label} <span style='color:{GREY}'>{allowed}</span>"
        heading = pn.pane.HTML(title, styles=SMALL, margin=(0, 5))
        self.slider = self._slider(key) if self._steps else None
        self._widgets = [widget for widget in (self.slider, self.text) if widget is not None]
        self.view = pn.Column(heading, pn.Row(*self._widgets), self.problem, margin=(2, 8))
        self.text.param.watch(self._typed, "value")

    def _slider(self, key: str) -> Any:
        """Return what moves the number."""
        steps = {f"{step:g}": step for step in self._steps}
        look = {"show_value": False, "width": WIDTH - 110, "margin": (10, 5), "css_classes": [key]}
        place = self._nearest(self._steps[0])
        slider = pn.widgets.DiscreteSlider(label="", options=steps, value=place, **look)
        slider.param.watch(self._moved, "value_throttled")
        return slider

    @property
    def value(self) -> str:
        """Return the words that stand there."""
        return str(self.text.value).strip()

    def show(self, text: str) -> None:
        """Show other words without telling of a change."""
        self._is_shown = True
        self.text.value = text
        self._is_shown = False

    def enable(self, *, enabled: bool) -> None:
        """Let it be changed, or not."""
        for widget in self._widgets:
            widget.disabled = not enabled

    def _nearest(self, default: float) -> float:
        """Return the step that is nearest to the number; of other words, to the default."""
        number = float(self.value) if is_plain(self.value) else default
        return min(self._steps, key=lambda step: abs(step - number))

    def _moved(self, event: Any) -> None:
        self.text.value = f"{event.new:g}"

    def _typed(self, _: Any) -> None:
        if self.slider is not None:
            self.slider.value = self._nearest(self.slider.value)
        if not self._is_shown:
            self._change()


class Fields:
    """A group of fields, one above the other.

    Args:
        change: is called after each change.
    """

    def __init__(self, change: Change) -> None:
        self.entries: dict[str, Entry] = {}
        self.view = pn.Column()
        self._change = change

    def _add(self, option: str, entry: Entry) -> None:
        self.entries[option] = entry
        self.view.append(entry.view)

    def _choice(self, label: str, names: Iterable[str], value: str | list[str]) -> Any:
        """Add and return a choice of one name, or of several if the value is a list of them."""
        is_one = isinstance(value, str)
        kind = pn.widgets.Select if is_one else pn.widgets.MultiChoice
        names = [*dict.fromkeys([*names, *([value] if is_one else value)])]
        return self._watched(kind(label=label, options=names, value=value, width=WIDTH - 20))

    def _watched(self, widget: Any) -> Any:
        widget.param.watch(self._chosen, "value")
        self.view.append(widget)
        return widget

    def _chosen(self, _: Any) -> None:
        self._change()


class LegFields(Fields):
    """What stands in the column of one leg."""

    def __init__(self, number: int, form: Form, change: Change) -> None:
        super().__init__(change)
        word = form.words["legs"][number]
        trace = next((name for name, path in TRACES.items() if path == word), word)
        kind = RATE if is_plain(word) else trace
        self._own = {kind: word}
        self.capacity = self._choice(f"leg {number + 1}", [RATE, *TRACES, *CARRIERS], kind)
        for name, label in LABELS.items():
            text = form.words[name][number] if name != "legs" or kind == RATE else "40"
            key = f"{name}-{number + 1}"
            self._add(name, Entry(key, (label, _allowed(name)), text, change))
        self._enable()
        if any(field.startswith(f"legs.{number}=") for field in form.words.get(REPEATED, ())):
            for entry in self.entries.values():  # which would change nothing
                entry.enable(enabled=False)

    def words(self) -> dict[str, str]:
        """Return the words of the leg by their options."""
        words = {name: entry.value for name, entry in self.entries.items()}
        kind = str(self.capacity.value)
        known = {**self._own, **TRACES, RATE: words["legs"]}
        return {**words, "legs": known.get(kind, kind)}

    def _enable(self) -> None:
        self.entries["legs"].enable(enabled=self.capacity.value == RATE)

    def _chosen(self, _: Any) -> None:
        """Show what a carrier is beside its rate, which can be changed then."""
        self._enable()
        if self.capacity.value in CARRIERS:
            carrier = Leg.check({"carrier": self.capacity.value}, "legs")
            words = words_of_legs([carrier])
            for name in BOTH:
                self.entries[name].show(words[name][0])
        self._change()


class TransferFields(Fields):
    """What is transferred, by which congestion control, how often."""

    def __init__(self, form: Form, change: Change) -> None:
        super().__init__(change)
        words = {name: value[0] for name, value in form.words.items() if value}
        kind, _, rest = words.get("workload", "download").partition(":")
        self.workload = self._choice("what is transferred", WORKLOADS, kind)
        fields = dict(field.partition("=")[::2] for field in rest.split(",") if field)
        own = fields.pop("size_mb", "10") if kind in SIZED else "10"
        size, seeds = words.get("size", own), words.get("repetitions", "3")
        rest = ",".join(f"{name}={value}" for name, value in fields.items())
        self._add("size", Entry("size", ("size (MB)", "above 0"), size, change))
        self._add("workload", Entry("workload", ("its fields", "KEY=VALUE,..."), rest, change))
        controls = get_runner(form.words["transports"][0]).congestion_controls
        control = words.get("congestion-control", CONTROL)
        self.control = self._choice("congestion control", controls, control)
        self._add("repetitions", Entry("repetitions", ("seeds", REPETITIONS), seeds, change))
        self._add("seed", Entry("seed", ("first seed", ""), words.get("seed", "1"), change))
        self._enable()

    def words(self) -> dict[str, Sequence[str]]:
        """Return the words of its options; of those that have their defaults, none."""
        size, more, seeds, seed = (entry.value for entry in self.entries.values())
        kind = str(self.workload.value)
        fields = [f"size_mb={size}"] if kind in SIZED[1:] else []
        own = ":".join(filter(None, [kind, ",".join(filter(None, [*fields, more]))]))
        return {
            "size": [size] if kind == "download" else [],
            "workload": [] if own == "download" else [own],
            "congestion_control": [] if self.control.value == CONTROL else [self.control.value],
            "repetitions": [seeds],
            "seed": [] if seed == "1" else [seed],
        }

    def _enable(self) -> None:
        self.entries["size"].enable(enabled=self.workload.value in SIZED)

    def _chosen(self, event: Any) -> None:
        """Show the fields of another workload, and let it have a size or not."""
        if event.obj is self.workload:
            self._enable()
            self.entries["workload"].show(WORKLOADS.get(event.new, ""))
        self._change()


class ComparedFields(Fields):
    """Which Dual Connectivities and which stacks are compared."""

    def __init__(self, form: Form, change: Change) -> None:
        super().__init__(change)
        duals = [*form.words.get("split", form.words.get("dc", ("papers", "deployable")))]
        label = "Dual Connectivity: by name, or split policies"
        self.duals = self._choice(label, [*NAMES, *policy_names()], duals)
        fields = dict(field.partition("=")[::2] for field in form.words.get(REPEATED, ()))
        timer = fields.pop(T_REORDERING, "")
        others = " ".join(f"{key}={value}" for key, value in fields.items())
        (xn,) = form.words.get("xn", ("5",))
        self._add("xn", Entry("xn", ("Xn (ms)", _allowed("delay")), xn, change))
        words = "t-Reordering (ms)", "as the DC has it"
        self._add(T_REORDERING, Entry("timer", words, timer, change))
        self._add_stacks(form.words["transports"])
        modes = form.words.get("modes", ())
        self._modes = [mode for mode in modes if mode != "atsss"]
        self.atsss = self._watched(pn.widgets.Checkbox(label="ATSSS", value="atsss" in modes))
        self._add(REPEATED, Entry(REPEATED, ("other fields", "FIELD=VALUE"), others, change))

    def _add_stacks(self, transports: Sequence[str]) -> None:
        self._pairs = {name: transports_of(name) for name in stacks_of()}
        self._pairs |= {} if linux_guest.obstacle() else KERNEL
        stacks = [name for name, pair in self._pairs.items() if {*pair} <= {*transports}]
        taken = {name for stack in stacks for name in self._pairs[stack]}
        self._transports = [name for name in transports if name not in taken]
        self.stacks = self._choice("stacks", self._pairs, stacks)

    def words(self) -> dict[str, Sequence[str]]:
        """Return the words of its options."""
        duals = [*self.duals.value]
        is_named = {*duals} <= {*NAMES}
        xn, timer, others = (entry.value for entry in self.entries.values())
        fields = [f"{T_REORDERING}={timer}"] if timer else []
        transports = [name for stack in self.stacks.value for name in self._pairs[stack]]
        return {
            "dc": duals if is_named else [],
            "split": [] if is_named else duals,
            "xn": [xn] if "deployable" in duals else [],
            "stacks": [],
            "transports": [*transports, *self._transports],
            "modes": [*(self._modes or MODES), "atsss"] if self.atsss.value else self._modes,
            REPEATED: [*fields, *filter(None, NEXT.split(others))],
        }


def _allowed(name: str) -> str:
    """Return the range of an option of a leg in words."""
    field = LegDirection.model_fields["rate_mbps" if name == "legs" else BOTH[name]]
    number = next(iter(get_args(field.annotation)), None)  # that of `Count | None`
    parts = (field, *getattr(number, "__metadata__", ()))
    return next(filter(None, (getattr(part, "description", None) for part in parts)), "")
