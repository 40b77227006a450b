"""The fields of a campaign's YAML file (docs/campaign-file.md).

A mapping of *fields* has dotted paths of a scenario as its keys
(`minitopo_dc.scenario.field_paths`). Where several name the same field, the last one in this
order counts: `base`, the configuration's, the experiment's `base`, those of `quick` or `sample`,
the command line's, the factors.

Fields below `virtual` are left out on the real clock, `real.sysctl` and `real.client_cpu_percent`
on the virtual one. A text that begins with `=` is worked out from the cell's labels
(`minitopo_dc.campaign.file.expressions`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from minitopo_dc.campaign.file.design import Design, Version, factor_names
from minitopo_dc.campaign.file.explain import Explain, Sides, When
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.settings import Settings, SettingsError
from minitopo_dc.settings.base import exists
from minitopo_dc.settings.ranges import Repetitions, within
from minitopo_dc.shipped import shipped

SUFFIX = ".yaml"


def campaign_names() -> list[str]:
    """Return the names of the campaigns that come with the package."""
    return sorted(path.stem for path in shipped("campaigns").glob(f"*{SUFFIX}"))


def find_campaign(wanted: str) -> Path:
    """Return the file of a campaign; a user's own file comes before a shipped one of the same name.

    Raises:
        SettingsError: there is neither a file nor a name like that; the message lists known names.
    """
    if exists(wanted) and not Path(wanted).is_dir():
        return Path(wanted)
    if wanted not in campaign_names():
        known = ", ".join(campaign_names())
        raise SettingsError(f"{wanted}: neither a file nor a campaign's name; known: {known}")
    return shipped("campaigns") / f"{wanted}{SUFFIX}"


Fields = dict[str, Any]
Retries = Annotated[int, *within(0, 1000)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Levels = Annotated[tuple[Any, ...], Field(min_length=1)]
"""The values of a factor."""
Joint = Annotated[dict[str, Levels], Field(min_length=1)]
"""Factors that change together: the first values of all, the second ones, ..."""


class Curve(Settings):
    """One curve of a figure: a measure of a configuration, and its columns in the reference."""

    configuration: str = ""
    """The configuration; None: the measure is one of `joined`, as figures over points need it."""
    measure: str = "goodput_mbps"
    """A column of the table of cells (docs/campaign-file.md)."""
    label: str = ""
    """The label in the figure; none: the configuration's name."""
    panel: str = ""
    """The title of the curve's panel; curves of one panel share their axes."""
    mean: str | None = None
    """Column of the reference table with the mean; none: the reference has no such curve."""
    sd: str | None = None
    """Column of the reference table with the standard deviation."""
    where: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Rows of the reference table, besides those of the reference's own `where`."""

    @model_validator(mode="before")
    @classmethod
    def _read_name(cls, values: Any) -> Any:
        """Read a name alone as that of the configuration."""
        return {"configuration": values} if isinstance(values, str) else values


class Reference(Settings):
    """The rows of a table in `reference/` that an experiment is compared with."""

    table: str
    x: str
    """Column of the table that has the values of the figure's `x`."""
    where: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Only rows whose column is this text, or one of these."""


OVER_POINTS = ("cdf", "boxes", "map")
"""Kinds of figures that show measures of `joined`."""
NEED_CURVES = ("curves", "bars", "throughput-delay", "against", "session", *OVER_POINTS)
KINDS_WITHOUT_X = (
    *("cdf", "boxes", "connection", "under-load", "throughput-delay", "rows-cdf", "session"),
)


class Figure(Settings):
    """The figure of an experiment: its kind, axes and curves."""

    kind: Literal[
        "curves",
        "bars",
        "legs",
        "window",
        "rates",
        "paths",
        "rows",
        "occasion",
        "delay",
        "connection",
        "under-load",
        "throughput-delay",
        "rows-cdf",
        "against",
        "session",
        "cdf",
        "boxes",
        "map",
    ] = "curves"
    """`curves` over the factor `x`; `bars` for each cell; or time series of a run of each cell:
    rates of the `legs`, congestion `window`, `rates` of the flows, goodput of the `paths` (a mark
    where their schedule changes them), its workload's `rows` (e.g. the delay of each request, one
    panel per configuration), the packets of its first needless drop `occasion`, the one-way
    `delay` of each packet, rate, window and round trip of each `connection`, or what is received
    and the delays meanwhile, `under-load`. Or goodput
    against the delay of each run, `throughput-delay`. Or what the workload's rows have as cumulated
    shares, `rows-cdf`; a measure `against` the measure `x`; a `session` of video. Or measures of
    `joined` over all points: as cumulated shares `cdf`, as `boxes` of quartiles, or as colours of a
    `map` over the factors `x` and `y`."""
    x: str = ""
    """The factor by which cells are told apart, if the kind has one; of `against` a measure."""
    y: str = ""
    """The other factor of a `map`."""
    level: float | None = None
    """In figures over points and `rows-cdf`: where the measure breaks even, e.g. 1 for a ratio."""
    x_label: str = ""
    y_label: str = "goodput (Mbit/s)"
    curves: tuple[Curve, ...] = ()
    seconds: float | None = None
    """The end of time series in s."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.kind in NEED_CURVES and not self.curves:
            raise ValueError(f"kind {self.kind} needs curves")
        if not self.x and self.kind not in KINDS_WITHOUT_X:
            raise ValueError(f"kind {self.kind} needs x")
        if self.kind == "map" and not self.y:
            raise ValueError("kind map needs y")
        for curve in self.curves:
            if bool(curve.configuration) == (self.kind in OVER_POINTS):
                needs = "no configuration" if curve.configuration else "a configuration"
                raise ValueError(f"curves: kind {self.kind} needs curves with {needs}")
        return self


class Claim(Settings):
    """A claim about an experiment: a number, and the range in which it is if the claim is true."""

    text: str
    source: str = ""
    """Who makes the claim, and with which number."""
    value: str
    """An expression of the columns of `joined`, over all points (docs/campaign-file.md)."""
    least: float | None = None
    most: float | None = None
    """The upper limit: the claim holds from `least` to `most`; none: no limit there."""

    @model_validator(mode="after")
    def _check_limit(self) -> Self:
        if self.least is None and self.most is None:
            raise ValueError("give least, most, or both")
        if None not in (self.least, self.most) and self.least > self.most:  # type: ignore[operator]
            raise ValueError("least is above most")
        return self


class Experiment(Settings):
    """The cells in which factors vary: each of `grid` with each of `joint` and of `cells`."""

    MOVED: ClassVar[dict[str, str]] = {"zip": "joint", "list": "cells"}

    title: str
    source: str = ""
    """Where the experiment comes from, e.g. a table of a paper."""
    base: Fields = Field(default_factory=dict)
    configurations: tuple[str, ...] | None = None
    """The configurations; None: the campaign's standard ones."""
    grid: dict[str, Levels] = Field(default_factory=dict)
    """Factors of which every combination is a cell."""
    joint: tuple[Joint, ...] = ()
    """Groups of factors that change together."""
    cells: tuple[Fields, ...] = ()
    """Cells, or parts of them, one by one."""
    design: Design | None = None
    """Cells, or parts of them, over ranges of factors."""
    repetitions: Repetitions | None = None
    """The number of repetitions; None: the campaign's."""
    quick: dict[str, Levels] = Field(default_factory=dict)
    """The values of each factor that `--quick` keeps."""
    sample: dict[str, Levels] = Field(default_factory=dict)
    """The values of each factor that `--sample` keeps."""
    across: str = ""
    """A factor whose values are joined as configurations are: they are no points of their own, and
    `dc[2].goodput_mbps` is that of configuration `dc` where it is 2. Factors that change together
    with it tell no points apart either."""
    joined: dict[Identifier, str] = Field(default_factory=dict)
    """Measures of a point over its configurations: name, expression (docs/campaign-file.md)."""
    claims: tuple[Claim, ...] = ()
    outcomes: tuple[Sides, ...] = ()
    """At how many points one side is better, as good, or worse, and by how much."""
    explain: tuple[Explain, ...] = ()
    """The questions which factors decide, answered on the report's first page."""
    when: tuple[When, ...] = ()
    """The questions when one side is better: models, and a rule with its regret."""
    figure: Figure | None = None
    reference: Reference | None = None

    @model_validator(mode="after")
    def _check_across(self) -> Self:
        if self.across and not self.values(self.across):
            allowed = ", ".join(sorted(self.factors() - set(factor_names(self.design)))) or "none"
            raise ValueError(
                f"across: {self.across} is no factor of grid, joint or cells; allowed: {allowed}"
            )
        return self

    @model_validator(mode="after")
    def _check_reference_figure(self) -> Self:
        if self.reference is not None and self.figure is None:
            raise ValueError("a reference needs a figure")
        return self

    def factors(self) -> set[str]:
        """Return the paths of all fields that vary."""
        joint = {path for group in self.joint for path in group}
        listed = {path for fields in self.cells for path in fields}
        return set(self.grid) | joint | listed | set(factor_names(self.design))

    def values(self, factor: str) -> tuple[Any, ...]:
        """Return the values of a factor of `grid`, `joint` or `cells`; empty for another one."""
        lists = next((group for group in (self.grid, *self.joint) if factor in group), None)
        if lists is not None:
            return lists[factor]
        return tuple(fields[factor] for fields in self.cells if factor in fields)

    def joint_factors(self, factor: str) -> frozenset[str]:
        """Return a factor together with those that change with it: of its `joint`, or `cells`."""
        listed = {path for fields in self.cells for path in fields}
        groups = (set(group) for group in (*self.joint, listed))
        return frozenset(next((group for group in groups if factor in group), {factor}))

    def kept(self, version: Version) -> dict[str, Levels]:
        """Return the values that a version keeps, by factor; a factor not named keeps all."""
        return {"full": {}, "quick": self.quick, "sample": self.sample}[version]


class Smaller(Settings):
    """The reductions that `--quick` or `--sample` make."""

    repetitions: Repetitions | None = None
    fields: Fields = Field(default_factory=dict)
    configurations: tuple[str, ...] | None = None
    """Configurations of experiments that name none; None: the campaign's standard ones."""


class CampaignFile(Settings):
    """A campaign: experiments around a base scenario, each under several configurations."""

    MOVED: ClassVar[dict[str, str]] = Scenario.MOVED

    title: str
    clock: Clock | None = None
    """The clock; None: the real one where it can run."""
    repetitions: Repetitions = 1
    """Repetition `i` has the base's seed plus `i - 1`."""
    retries: Retries = 0
    """How often a failed run is tried again before the failure is its result."""
    failed_runs: Literal["missing", "endless"] = "missing"
    """How curves, points and claims count a failed run: `missing`, it is left out and counted; or
    `endless`, as one that delivered nothing and never ends."""
    parameters: dict[Name, Any] = Field(default_factory=dict)
    """A value `$name` anywhere below is that of the parameter; `--parameter` changes it."""
    base: Fields = Field(default_factory=dict)
    configurations: Annotated[dict[Name, Fields], Field(min_length=1)]
    standard_configurations: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The configurations of an experiment that names none; None: all. The others have to be
    named."""
    experiments: Annotated[dict[Name, Experiment], Field(min_length=1)]
    quick: Smaller = Smaller()
    sample: Smaller = Smaller()
    words: dict[str, str] = Field(default_factory=dict)
    """Names in words of factors and of columns of `joined`, with their units in brackets."""
    notes: tuple[str, ...] = ()
    """What a reader of the report must know, e.g. how this differs from the paper."""

    @model_validator(mode="after")
    def _check_configurations(self) -> Self:
        for key, names in (
            ("standard_configurations", self.standard_configurations),
            ("quick.configurations", self.quick.configurations),
            ("sample.configurations", self.sample.configurations),
        ):
            for name in names or ():
                if name not in self.configurations:
                    allowed = ", ".join(self.configurations)
                    raise ValueError(f"{key}: {name} is unknown; allowed: {allowed}")
        return self

    @model_validator(mode="after")
    def _check_words(self) -> Self:
        known = set().union(
            *(
                experiment.factors() | set(experiment.joined)
                for experiment in self.experiments.values()
            )
        )
        for name in self.words:
            if name not in known:
                allowed = ", ".join(sorted(known)) or "none"
                raise ValueError(f"words: {name} is no factor; allowed: {allowed}")
        return self

    @property
    def endless(self) -> bool:
        """Return whether a run that failed counts as one that never ends."""
        return self.failed_runs == "endless"

    def smaller(self, version: Version) -> Smaller:
        """Return what a version changes for all experiments."""
        return {"full": Smaller(), "quick": self.quick, "sample": self.sample}[version]

    def has(self, version: Version) -> bool:
        """Return whether the file has a version; the full one is always there."""
        parts = (experiment.kept(version) for experiment in self.experiments.values())
        designs = (experiment.design for experiment in self.experiments.values())
        return (
            version == "full"
            or self.smaller(version) != Smaller()
            or any(parts)
            or any(design and getattr(design, version) for design in designs)
        )

    def configurations_of(self, experiment: Experiment, version: Version) -> tuple[str, ...]:
        """Return the configurations of an experiment, unless the command line names others."""
        return (
            experiment.configurations
            or self.smaller(version).configurations
            or self.standard_configurations
            or tuple(self.configurations)
        )
