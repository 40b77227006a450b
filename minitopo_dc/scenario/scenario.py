"""A scenario: everything that fixes one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from minitopo_dc.fields.base import LeftOut, Settings, SettingsError, given
from minitopo_dc.fields.path_schedule import PathPlan, PathSchedule, primary_first
from minitopo_dc.fields.ranges import (
    CONGESTION_CONTROL,
    Direction,
    IpVersion,
    Microseconds,
    Milliseconds,
    Moment,
    Number,
    Seconds,
    Seed,
    WholeInterval,
    within,
)
from minitopo_dc.registry import with_loaded_plugins
from minitopo_dc.scenario import drawing
from minitopo_dc.scenario.cell import CellSettings
from minitopo_dc.scenario.change import HandoverSettings, MobilityEvent
from minitopo_dc.scenario.checks import check_bearers, check_cells, check_handover, check_policy
from minitopo_dc.scenario.flow import (
    DUAL_CONNECTIVITY,
    PROXIED,
    FlowMode,
    FlowSettings,
    ResolvedFlow,
    UplinkPdcpSettings,
    downlink_pdcp,
    is_proxied,
    uplink_pdcp,
)
from minitopo_dc.scenario.leg import LegDirection, NoTraceError
from minitopo_dc.scenario.pdcp import Pdcp
from minitopo_dc.scenario.presets import (
    FIELDS,
    NAMES,
    XN_MS,
    DualConnectivity,
    dual_connectivity,
    table_name,
)
from minitopo_dc.scenario.radio import Leg, nearest
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads import Download, WorkloadField

SHORT = 10
"""The fewest samples that show how a transfer went."""
Clock = Literal["real", "virtual"]
Backend = Literal["auto", "user", "kernel"]
UdpMemory = Literal["modern", "linux-4.15"]
Core = Literal["auto", "native", "python"]
"""What computes a run: `auto` is the native core where it is built and has all that is needed."""
SysctlName = Annotated[str, Field(pattern=r"^net\.[A-Za-z0-9_.-]+$")]
"""Only what a network namespace has of its own can be set for one run."""
EarlierDownloads = Annotated[int, *within(0, 100)]
BATCH = 64
"""The datagrams that the real endpoints take in before a transmission (`udp_socket.BATCH`)."""
SysctlValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9_. \t-]+$")]


class RealSettings(Settings):
    """Settings that kernels and processes have, and discrete events lack.

    The virtual clock ignores them, but for a backhaul, which it refuses.
    """

    backhaul: Annotated[tuple[Leg, ...], Field(max_length=250)] = ()
    """Links between the server and gnb, the server having one address on each; none: a wire.

    Flows use the server's first address; workload `ping` uses them all.
    """
    sysctl: dict[SysctlName, SysctlValue] = Field(default_factory=dict)
    """Kernel settings of server and client, e.g. `net.ipv4.tcp_rmem`."""
    backend: Backend = "auto"
    """What legs are made of: this project's process (auto: too), or the kernel's netem and tbf
    (docs/legs.md)."""
    core: LeftOut[Core] = "auto"
    """What carries the elements' packets: C, or Python (docs/element.md)."""
    capture: tuple[Literal["legs", "client", "server"], ...] = ()
    """What is captured (docs/element.md): every leg, an end host's packets."""

    @property
    def captured_hosts(self) -> tuple[str, ...]:
        """Return the end hosts whose packets are captured."""
        return tuple(name for name in self.capture if name != "legs")


class VirtualSettings(Settings):
    """Settings that give a simulation what a testbed has; 0 is an ideal machine.

    The real clock ignores them.
    """

    processing_delay_ms: Milliseconds = 0.0
    """What a bearer's packet waits before it is split, and again before it is reordered.

    The papers' proxies: 1 ms each (thesis, table 5.1: a round-trip time of 58.07 against 56.01 ms).
    """
    cpu_us_per_packet: Microseconds = 0.0
    """CPU time of an end host for each datagram that it reads or sends."""
    client_cpu_us_per_packet: LeftOut[Microseconds | None] = None
    """The same of the clients alone; None: as `cpu_us_per_packet`."""
    client_datagrams_per_read: LeftOut[Annotated[int, *within(1, BATCH)]] = BATCH
    """The datagrams of those arrived that a client takes in before it sends: as the real endpoints;
    one that takes fewer acknowledges more often (docs/virtual-clock.md)."""
    core: LeftOut[Core] = "auto"
    """Whether legs and bearers are computed in C or in Python; results are the same."""
    udp_memory: LeftOut[UdpMemory] = "modern"
    """When a UDP socket frees the memory of what was read: as Linux does now, or as 4.14 to 5.4 did
    (docs/virtual-clock.md)."""
    sysctl: LeftOut[dict[SysctlName, SysctlValue]] = Field(default_factory=dict)
    """Kernel settings of server and client in guests, as `real.sysctl`."""
    earlier_downloads: LeftOut[EarlierDownloads] = 0
    """In guests: downloads of the same size, one after the other, before the one that is measured.

    Each has a connection of its own. What the kernel keeps of it, the next one finds."""
    packet_trace: bool = False
    """Write `packets.csv`: time, flow, direction, size, number of datagrams at the end hosts."""
    packet_delays: LeftOut[bool] = False
    """Write `packet-delays.csv`: where the delay of each packet went (docs/results.md). Legs and
    bearers are then computed in Python; no leg may have `wifi`."""
    capture: LeftOut[tuple[Literal["client", "server"], ...]] = ()
    """End hosts whose packets are captured, as by `real.capture`."""


NO_REAL, NO_VIRTUAL = RealSettings(), VirtualSettings()
Mode = Literal["sc", "dc", "dc-duplicate", "atsss", "multipath", "flows"]
"""As for a flow; several flows at once."""


class Scenario(Settings):
    """One run; the two-path topology fixes which element is where, and who sends."""

    MOVED: ClassVar[dict[str, str]] = {
        "size_mb": "workload: {size_mb: ...}",
        "duration_s": "workload: {duration_s: ...}",
        **{name: f"real: {{{name}: ...}}" for name in RealSettings.model_fields},
    }

    transport: str
    """A runner's name (docs/runners.md): tcp, quic, mptcp, mpquic-picoquic, icmp, ..."""
    mode: Mode
    legs: Annotated[tuple[Leg, ...], Field(min_length=1, max_length=250)]
    trace_offset_s: LeftOut[Moment] = 0.0
    """The moment, in s, at which all traces of the legs begin, beside the offset of each of them:
    one factor for several starting points of a drive."""
    handover: LeftOut[HandoverSettings | None] = None
    """The legs are channels of which the best ones are used, in place of `paths`."""
    mobility: LeftOut[tuple[MobilityEvent, ...]] = ()
    """Procedures and failures of Dual Connectivity's legs; other modes have none
    (docs/paths.md#mobility-of-dual-connectivity)."""
    cells: LeftOut[tuple[CellSettings, ...]] = ()
    """Cells whose capacity the downlinks of legs share with each other and with background
    users."""
    server_delay_ms: LeftOut[Milliseconds] = 0.0
    """The one-way delay of the wired link between server and gnb, which is ATSSS's UPF."""
    leg: Number = 1
    """The leg that `mode: sc` uses."""
    primary_leg: LeftOut[Number | Literal["nearest"]] = 1
    """The leg of the node that splits (the master node of TS 37.340, without Xn), of the uplink's
    primaryPath (TS 38.331), and of the path on which a multipath connection begins; in the papers
    leg 1. `nearest`: the one of least delay that is up at the start, as an operator would choose.
    `pdcp.legs` and `paths.initial` may each say another one."""
    ip_version: IpVersion = 4
    """Of the addresses that transports use (docs/mininet.md); 4 as in the papers."""
    pdcp: Pdcp = Pdcp()
    """The bearer's parameters in the modes `dc` and `dc-duplicate`."""
    paths: PathSchedule | None = None
    """Of `mode: multipath`: when the transport opens a path on which leg, and abandons it; None: a
    path on every leg from the beginning to the end."""
    split_uplink: bool = False
    """Whether the uplink is split too; by default it takes the bearer's first leg, in the papers
    leg 1."""
    uplink_pdcp: LeftOut[UplinkPdcpSettings | None] = None
    """The parameters of the split uplink's bearer; None: those of `pdcp`."""
    workload: WorkloadField = Download()
    """What the end hosts do: `{kind: NAME, ...}`, a download unless named."""
    flows: tuple[FlowSettings, ...] = ()
    """The flows of `mode: flows`."""
    congestion_control: str = CONGESTION_CONTROL
    """Of all transports; a flow may have its own."""
    seed: Seed = 1
    """Fixes losses and jitter of every leg and direction."""
    timeout_s: Seconds = 300.0
    """A flow that takes longer has failed; at 1 Mbit/s, 300 s are enough for 37 MB.

    Of a workload that lasts a time of its own: what it may take beyond, to begin and to close.
    """
    statistics_ms: WholeInterval = 100
    clock: Clock = "real"
    """What drives the run: kernels and processes, or discrete events."""
    real: RealSettings = RealSettings()
    virtual: VirtualSettings = VirtualSettings()
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the runner, e.g. `receive_buffer_bytes` of quic."""
    plugins: tuple[str, ...] = ()
    """Modules or Python files of the user's that register runners, workloads, split policies."""

    @model_validator(mode="before")
    @classmethod
    def _load_plugins(cls, values: Any) -> Any:
        """Load the plugins first, as what they register may be named anywhere in the scenario."""
        return with_loaded_plugins(values)

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if (self.mode == "flows") != bool(self.flows):
            raise ValueError("mode flows needs a list of flows, and only this mode has one")
        if self.primary_leg != "nearest" and self.primary_leg > len(self.legs):
            allowed = f"1 to {len(self.legs)}, nearest"
            raise ValueError(f"primary_leg: {self.primary_leg} does not exist; allowed: {allowed}")
        self._check_legs(self._own_flow, "")
        for number, flow in enumerate(self.flows):
            self._check_legs(flow, f"flows.{number}.")
        check_policy("pdcp", self.pdcp, len(self.pdcp.legs or self.legs))
        flows = self.resolved_flows
        for resolved in flows:
            if self.flows or resolved.mode in DUAL_CONNECTIVITY:
                check_bearers(resolved, resolved.where, self.legs)
        radios = (radio for leg in self.legs for radio in (leg.downlink, leg.uplink))
        if self.trace_offset_s and not any(radio.has_trace for radio in radios):
            raise ValueError("trace_offset_s: no leg has a trace; allowed: 0")
        check_cells(self.cells, self.legs, self.handover)
        if self.handover is not None:
            scheduled = bool(self.paths) or any(flow.paths for flow in self.flows)
            check_handover(self.handover, flows, len(self.legs), scheduled=scheduled)
        if self.server_delay_ms and self.real.backhaul:
            raise ValueError("server_delay_ms: real.backhaul is that link; allowed: one of the two")
        if self.mobility and self.flows:
            raise ValueError("mobility: mode flows has none; allowed: dc, dc-duplicate")
        for number, event in enumerate(self.mobility):
            if event.leg > len(self.legs):
                place = f"mobility.{number}.{event.kind}: leg {event.leg} does not exist"
                raise ValueError(f"{place}; allowed: 2 to {len(self.legs)}")
        return self

    def _check_legs(self, flow: FlowSettings, where: str) -> None:
        legs = len(self.legs)
        if flow.leg > legs:
            raise ValueError(f"{where}leg: {flow.leg} does not exist; allowed: 1 to {legs}")
        if flow.mode in DUAL_CONNECTIVITY and legs < 2:
            raise ValueError(f"{where}mode {flow.mode} needs at least two legs")
        if flow.mode == "dc" and (flow.pdcp or self.pdcp).split == "duplicate":
            # The mode distinguishes a duplicated run from a split one in every table.
            raise ValueError(f"{where}mode dc: pdcp.split duplicate is mode dc-duplicate")
        self._check_pdcp(flow, where)
        mode = self._mode(flow.mode, flow.transport)
        if flow.paths is not None and flow.mode == "sc" and not where:
            if flow.paths.schedule or flow.paths.attempt_delay_ms is None:
                raise ValueError("paths: mode sc has one path; allowed: attempt_delay_ms, initial")
        elif flow.paths is not None and mode != "multipath":
            tunnels = " or ".join(PROXIED)
            raise ValueError(
                f"{where}paths: mode {flow.mode} has no paths; "
                f"allowed: multipath, and atsss with {tunnels}"
            )
        try:
            self._plan(mode, flow.paths)
        except SettingsError as error:
            raise ValueError(f"{where}paths.{error}") from None

    def _check_pdcp(self, flow: FlowSettings, where: str) -> None:
        if flow.uplink_pdcp is not None and not (self.split_uplink or flow.mode == "atsss"):
            raise ValueError(f"{where}uplink_pdcp: needs split_uplink: true of the scenario")
        if where and flow.uplink_pdcp is not None and flow.uplink_pdcp.xn_ms:
            raise ValueError(f"{where}uplink_pdcp.xn_ms: allowed: in a scenario of one flow")
        for name, pdcp in (("pdcp", flow.pdcp), ("uplink_pdcp", flow.uplink_pdcp)):
            if pdcp is not None and where and flow.mode == "multipath":
                raise ValueError(f"{where}{name}: mode multipath has no bearer")
            for leg in (pdcp.legs or ()) if pdcp is not None else ():
                if leg > len(self.legs):
                    raise ValueError(
                        f"{where}{name}.legs: leg {leg} does not exist; "
                        f"allowed: 1 to {len(self.legs)}"
                    )

    @property
    def _own_flow(self) -> FlowSettings:
        """Return the flow that the scenario is itself, without validation as its fields had it."""
        names = ("mode", "leg", "paths", "pdcp", "uplink_pdcp")
        return FlowSettings.model_construct(**{name: getattr(self, name) for name in names})

    def _plan(self, mode: FlowMode, paths: PathSchedule | None) -> PathPlan | None:
        if mode != "multipath" and paths is None:
            return None
        return (paths or PathSchedule()).plan(len(self.legs), self.leg_numbers[0])

    def _mode(self, mode: Any, transport: str | None) -> FlowMode:
        """Return the mode of a flow; one that ends at a proxy is multipath up to there."""
        return "multipath" if is_proxied(mode, transport or self.transport) else mode

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Scenario], tuple[dict[str, Any]]]:
        """Pickle as plain values: another process loads the plugins before their classes."""
        return type(self).model_validate, (self.model_dump(mode="json"),)

    def on_clock(self, clock: Clock) -> Self:
        """Return the same scenario on a clock; itself where that is its own.

        The end hosts keep their kernel settings and captures, unless the clock has some of its own.
        """
        if clock == self.clock:
            return self
        own, other = getattr(self, clock), getattr(self, self.clock)
        hosts = {
            "sysctl": own.sysctl or other.sysctl,
            "capture": own.capture or tuple(name for name in other.capture if name != "legs"),
        }
        kept = own.model_copy(update=hosts)
        left = other.model_copy(update={"sysctl": {}, "capture": ()})
        return self.model_copy(update={"clock": clock, clock: kept, self.clock: left})

    def _changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changed fields; other legs bring a named Dual Connectivity's fields anew."""
        legs = {name: changes[name] for name in ("legs", "primary_leg") if name in changes}
        pdcp, numbers = changes.get("pdcp"), self.pdcp.legs
        if isinstance(pdcp, Mapping) and "legs" in pdcp:
            numbers = pdcp["legs"]
        named = self._named() if legs or numbers != self.pdcp.legs else None
        if named is None:
            return super()._changed(changes)
        name, xn_ms = named
        fields = super()._changed(legs)
        fields |= {"split_uplink": False, "uplink_pdcp": None, "pdcp": {"legs": numbers}}
        fields |= self.check(fields, "evolve").dc_fields(name, xn_ms)
        others = {field: value for field, value in changes.items() if field not in legs}
        return super(Scenario, self.check(fields, "evolve"))._changed(others)

    def with_dc(self, name: DualConnectivity, *, xn_ms: float = XN_MS) -> Self:
        """Return the scenario over a Dual Connectivity with a name (docs/split-policies.md).

        >>> scenario.with_dc("deployable", xn_ms=5)

        Args:
            name: `papers`, `deployable` or `ideal`.
            xn_ms: the one-way delay between the node that splits, which has the bearer's first leg,
                and those of the others; of `deployable`.

        Raises:
            SettingsError, TraceError: there is no such name, or a trace is missing or wrong.
        """
        fields = self.dc_fields(name, xn_ms)
        mode = self.mode if self.flows else "dc"
        return self.check({**given(self), **fields, "mode": mode}, "with_dc")

    def dc_fields(self, name: DualConnectivity | str, xn_ms: float = XN_MS) -> dict[str, Any]:
        """Return the fields for which a Dual Connectivity's name stands (`with_dc`)."""
        numbers = self.pdcp.legs or self.leg_numbers
        fields = dual_connectivity(name, [self.legs[number - 1] for number in numbers], xn_ms)
        if self.pdcp.legs:
            fields["pdcp"]["legs"] = self.pdcp.legs
        return fields

    @property
    def dc_name(self) -> str:
        """Return the name in tables of its Dual Connectivity: `deployable, Xn 5 ms`; empty: none.

        Raises:
            SettingsError, TraceError: a trace is missing or wrong.
        """
        named = self._named() if self.mode == "dc" else None
        return "" if named is None else table_name(*named)

    def _named(self) -> tuple[DualConnectivity, float] | None:
        """Return the name of its Dual Connectivity, and Xn's delay (ms); None: it has none."""
        control = self.pdcp.flow_control
        delays_ms = () if control is None else control.backhaul_ms
        xn_ms = delays_ms[-1] if isinstance(delays_ms, tuple) and delays_ms else XN_MS
        for name in NAMES if len(self.legs) > 1 else ():
            try:  # in any mode, as another one may be set again
                named = self.check({**given(self), **self.dc_fields(name, xn_ms)}, "with_dc")
            except NoTraceError:
                raise
            except SettingsError:  # a flow over one leg has no Xn
                continue
            if all(getattr(self, field) == getattr(named, field) for field in FIELDS):
                return name, xn_ms
        return None

    def of_its_clock(self) -> Self:
        """Return the scenario without what only the other clock has; itself where there is none.

        A backhaul stays, which is a part of the network: the virtual clock refuses it. So does the
        elements' own backend, which legs of the virtual clock are, too.
        """
        virtual, real = self.virtual, self.real
        if self.clock == "real":
            virtual = NO_VIRTUAL
        elif real != NO_REAL:
            backend: Backend = "user" if real.backend == "user" else "auto"
            real = RealSettings(backhaul=real.backhaul, backend=backend)
        if virtual == self.virtual and real == self.real:
            return self
        return self.model_copy(update={"virtual": virtual, "real": real})

    def read_traces(self) -> None:
        """Read every trace once, so that a wrong one is found before a run begins.

        Raises:
            SettingsError, TraceError: a trace is missing or wrong; the message says where.
        """
        for _, radio in self.directions():
            radio.capacity()
            radio.delay_model()
        for cell in self.cells:
            cell.build("")

    def directions(self) -> Iterator[tuple[str, LegDirection]]:
        """Yield each direction of each leg and backhaul link, with its place in the scenario."""
        for name, links in (("legs", self.legs), ("real.backhaul", self.real.backhaul)):
            for number, link in enumerate(links):
                yield f"{name}.{number}.downlink", link.direction("downlink")
                yield f"{name}.{number}.uplink", link.direction("uplink")

    @cached_property
    def resolved_flows(self) -> tuple[ResolvedFlow, ...]:
        """Return the flows of `mode: flows`; in other modes the one that the scenario is."""
        if self.mode != "flows":
            return (self._resolve(self._own_flow),)
        return tuple(self._resolve(flow, number) for number, flow in enumerate(self.flows))

    @property
    def is_proxied(self) -> bool:
        """Return whether the transport of one of its flows ends at a proxy on the UPF."""
        return any(flow.proxied for flow in self.resolved_flows)

    @property
    def leg_numbers(self) -> tuple[int, ...]:
        """Return the numbers of the legs, the primary one first.

        Raises:
            SettingsError, TraceError: a trace is missing or wrong.
        """
        primary = nearest(self.legs) if self.primary_leg == "nearest" else self.primary_leg
        return primary_first(len(self.legs), primary)

    @property
    def loads(self) -> tuple[Direction, ...]:
        """Return the directions that its flows load, whose bytes and capacity count in a result."""
        ways = {way for flow in self.resolved_flows for way in flow.workload.loads}
        return tuple(way for way in get_args(Direction) if way in ways)

    @property
    def sampling_ms(self) -> int:
        """Return the interval of the time series in ms, for a short run a tenth of `statistics_ms`.

        Short is what ends within `SHORT` intervals, or what the legs could carry within them: its
        series would have too few samples to show anything.

        Raises:
            SettingsError, TraceError: a trace is missing or wrong.
        """
        window_ns = round(SHORT * self.statistics_ms * NS_PER_MS)
        workloads = [flow.workload for flow in self.resolved_flows]
        timed = [one.lasts_s * NS_PER_S for one in workloads if one.lasts_s is not None]
        sizes = [one.size_bytes for one in workloads if one.lasts_s is None]
        if 0 in sizes or max(timed, default=0) > window_ns:
            return self.statistics_ms
        radios = [leg.direction(way) for leg in self.legs for way in self.loads]
        could = sum(bits for one in radios for bits in one.available_bits((0, window_ns)))
        return (
            max(1, self.statistics_ms // SHORT) if 8 * sum(sizes) <= could else self.statistics_ms
        )

    def _resolve(self, flow: FlowSettings, number: int | None = None) -> ResolvedFlow:
        transport = flow.transport or self.transport
        options = self.options if transport == self.transport else {}
        mode, legs = self._mode(flow.mode, flow.transport), self.leg_numbers
        plan, one = self._plan(mode, flow.paths), (flow.leg,) if mode == "sc" else ()
        down = downlink_pdcp(mode, flow.pdcp or self.pdcp)
        up = uplink_pdcp(mode, down, flow.uplink_pdcp or self.uplink_pdcp)
        return ResolvedFlow(
            mode=mode,
            leg=flow.leg,
            legs=(one or down.legs or legs) if plan is None else plan.legs,
            uplink_legs=one or up.legs or legs,
            transport=transport,
            workload=flow.workload or self.workload,
            congestion_control=flow.congestion_control or self.congestion_control,
            options=options if flow.options is None else flow.options,
            pdcp=down,
            uplink_pdcp=up,
            splits_uplink=self.split_uplink or mode == "atsss",
            proxied=is_proxied(flow.mode, transport),
            paths=plan,
            number=number,
        )

    @property
    def handover_by(self) -> Literal["paths", "legs"]:
        """Return whether paths or legs make the handovers of `handover`."""
        chosen = None if self.handover is None else self.handover.by
        several = all(flow.mode == "multipath" for flow in self.resolved_flows)
        return chosen or ("paths" if several else "legs")

    @property
    def unused_legs_are_down(self) -> bool:
        """Return whether the legs that `handover` does not use are down."""
        given = self.handover is not None and self.handover.unused_legs == "down"
        return given or self.handover_by == "legs"

    def _repr_html_(self) -> str:
        return drawing.svg(self)

    @property
    def label(self) -> str:
        """Return transport and mode, as one name of a file or of a curve."""
        return f"{self.transport}-{self.mode}"
