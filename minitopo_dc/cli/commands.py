"""The commands and their options, from which the help and the mistakes of a line are answered.

Each is a text: a line for the list of commands, what its own help says more, and its options as
`options.add_options` reads them. Numbers and names that other modules define are written here
again, as importing these takes time; tests/cli/test_options.py compares them.
"""

from __future__ import annotations

JOBS = "  --jobs N  runs at the same time (default: one a processor, on the real clock 1)\n"
RETRIES = """  --retry-disturbed N = 1  repeat a run that the machine disturbed at most N times
      (docs/trust.md; allowed: 0 to 10)
"""
PLUGIN = "  --plugin MODULE*  your Python module or file.py (docs/plugins.md); repeatable\n"
CLOCK = "  --clock real|virtual  real: Linux, as root; virtual: events (default: real if it can)\n"
PCAP = "  --pcap  capture each leg with PDCP headers; real clock only (docs/element.md)\n"
SEED = "  --seed N = 1  of losses and jitter; those of a row: SEED, SEED + 1, ...\n"
SET = """\
  --set FIELD=VALUE*  any field of a scenario: legs.1.downlink.loss_percent=0.1 (from 0, * is all);
      repeatable (docs/scenarios.md)
"""
XN = "  --xn MS  one-way delay of Xn, of the deployable one (default: 5)\n"
DUALS = "papers, deployable, ideal"
# Minitopo's two files have the names that they have on its own command line.
TOPOLOGY = "  -t --topo_param_file TOPO  Minitopo's topology file (docs/minitopo.md)\n"
EXPERIMENT = """\
  -x --experiment_param_file XP  Minitopo's experiment file (docs/minitopo.md); without it Mininet's
      command line opens
"""


def legs(default: str = "") -> str:
    """Return the options of legs; without a default their traces are those of the package."""
    given, shown = (f" = {default}", "") if default else ("", "; default: lte_a.csv lte_b.csv")
    return f"""\
[legs (one value for all, or one a leg; DOWN/UP: one each way; units: 8ms, 20Mbit, 0.1%)]
  --legs LEG...{given}  rate in Mbit/s, trace, RECORDING of RECORDING.down and .up, or carriers:
      nr-tdd-100, en-dc (docs/carriers.md{shown})
  --uplink LEG...  uplinks: a rate in Mbit/s or a trace file (default: RECORDING.up, or 20)
  --delay ms...  one-way delay, a file with it over time, or its curve: power, exponential,
      linear, constant (0 to 3,600,000 ms; default: 10)
  --jitter ms...  standard deviation of the delay (0 to 3,600,000 ms; default: 1)
  --loss percent...  random loss (0 to 100 %; default: 0)
  --queue PACKETS...  limit of the drop-tail queue (default: 100)
  --trace-column NAME:UNIT... = DL_bitrate  column with the downlink's capacity (docs/traces.md)
  --uplink-column NAME:UNIT...  the same in the trace of the uplink
"""


LOAD = f"""  --size MB  size of a download in 10^6 bytes (default: 10)
  --workload NAME[:KEY=VALUE,...] = download  of download, upload, both, request-response, ping,
      command, video, realtime, under-load (docs/workloads.md)
  --congestion-control NAME = cubic  that of the transports (docs/runners.md)
{SEED}{SET}"""


def compared(default: str = "") -> str:
    """Return the options that make the rows of a comparison over legs, and its seeds."""
    return f"""\
{legs(default)}[what is compared]
  --transports NAME...  of tcp (Linux), quic (aioquic), quic-ngtcp2 (ngtcp2), mptcp (Linux),
      quic-picoquic (picoquic), mpquic-picoquic (picoquic), quic-noq (noq), mpquic-noq (noq),
      icmp (ping), command, or a plugin's (default: tcp mptcp icmp and those of --stacks, where
      they can run)
  --stacks STACK...  stacks of QUIC, each DC against its own multipath (default: picoquic, on the
      virtual clock noq too where it is built)
  --modes MODE... = sc,dc,multipath  of sc, dc, dc-duplicate, atsss, multipath
  --leg N  leg of mode sc (default: the better one)
| --dc NAME...  Dual Connectivities, a row each, of {DUALS}
      (docs/split-policies.md; default: papers deployable)
| --split POLICY...  plain split policies instead, a row each
{XN}{PLUGIN}  --repetitions N  runs of each row (default: 5, on the real clock 3)
[transfer]
{LOAD}"""


PATH = f"""  --split POLICY = batch  split policy (docs/split-policies.md)
  --mode sc|dc|dc-duplicate|atsss|multipath = dc  mode
  --leg N = 1  leg of mode sc
{SEED}{legs()}"""
"""The legs, the mode and the split policy of the path that a program gets."""
PROGRAM = f"""\
  --scenario FILE  scenario file that gives legs, mode and PDCP in place of the options
      (docs/scenarios.md)
  --clock real|virtual = real  real: on emulated hosts, needs root; virtual: in a guest, without
      root (docs/linux-guest.md)
  --user NAME  user as whom the program and the server run (default: $SUDO_USER, else root)
  --output DIR  directory for time series, counters and a figure; must not exist (default: keep
      nothing)
{TOPOLOGY}{SET}{PCAP}{PLUGIN}{PATH}[server]
  --server COMMAND  program on the server's host, which starts before yours; no shell reads
      its words (default: none)
  --server-ready PORT  start your program when this TCP or UDP port is bound on the server's host
      (default: after half a second)
"""
SOURCE = """  trace FILE  trace or drive to read
  --format auto|raca|mahimahi|csv|table|json = auto  format of the file; auto: by content
  --column NAME:UNIT = DL_bitrate  column and unit (Mbit/s, kbps, MB/s, ...) of the rate in a table
      or JSON, or the only one; NAME alone if it ends in its unit, and in a Raca file
  --time-column NAME:UNIT  column and unit (s, ms, us, ns, iso) of the time in a table; NAME alone
      if it ends in its unit (default: the first column)
"""
RADIO = """  --load NUMBER = 0.1  load of the cells
  --interferers all|carrier = all  cells that interfere with a channel
  --scale NUMBER = 1  factor of all capacities
  --floor MBPS = 0  capacity in Mbit/s below which a channel is absent
"""
COMMANDS: dict[str, str] = {
    "advise": f"""\
decide whether Dual Connectivity or multipath is better over your legs, or if they tie

The command runs each leg alone, Dual Connectivity and multipath on the virtual clock with one seed
after the other. It ends when one of the two is better, when they tie, or when the time is over.

{PLUGIN}{JOBS}  --output DIR  results directory; new, or that of unfinished advice, which is resumed
      (default: results/advise-TIME)
  --json  print JSON instead of sentences
{legs()}[transfer]
  --transports NAME...  the single-path and the multipath transport of a stack, such as tcp mptcp
      (default: those of --stacks)
  --stacks STACK...  stacks of MP-QUIC, each with a verdict, for which the time is divided (default:
      those of picoquic and noq that are built)
  --xn MS = 5  one-way delay of Xn, of the deployable one
{LOAD}[advice]
  --time S = 60  time limit for the verdict in s, or with a unit: 5min
  --margin PERCENT  difference within which the verdict is a tie (docs/advise.md; default by
      workload: download 5, request-response 10, video 5, realtime 1)
""",
    "compare": f"""compare transports over one leg, Dual Connectivity and several paths
{CLOCK}{PCAP}{JOBS}{RETRIES}\
  --output DIR  results directory; new, or that of an unfinished comparison, which is resumed
      (default: results/compare-TIME)
  --dry-run  check the options, count the runs and say which this machine cannot do
  --json  print the rows as a JSON list instead of the table
{compared()}""",
    "explore": f"""open a page in the browser: move sliders, see DC and MP-QUIC answer

The page answers which way is better over your legs, anew at each change. It takes the options of
`compare`, and begins with picoquic and 3 seeds. It is served on this machine only, with a token in
its address. Ctrl-C ends it.

  --scenario FILE  scenario file to begin with, before options
  --port N = 8866  of localhost; 0 takes any
  --no-browser  print the address, and open no browser
{compared("40,30")}""",
    "run": f"""run a scenario file, or Minitopo's topology and experiment files
  scenario [SCENARIO.yaml]  scenario file (docs/scenarios.md)
{TOPOLOGY}{EXPERIMENT}{CLOCK}\
  --dc NAME  Dual Connectivity: {DUALS} (docs/split-policies.md)
{XN}{SET}{PCAP}{PLUGIN}\
  --output DIR  results directory; must not exist (default: results/run-TIME)
  --json  print the result as JSON
""",
    "show": f"""print the results of a run, comparison or campaign, or set two of them side by side

The command reads the files of the directories and runs nothing.

  directories DIR...  results directory of a run, comparison or campaign; with a second one, the
      difference of each row of both and its 95 % confidence interval over seeds; or the name of a
      carrier, such as nr-tdd-100: its leg's values and their sources
  --measure NAME  measure of two directories (default: goodput_mbps, or the workload's first
      measure)
{PLUGIN}  --json  print JSON instead of tables
""",
    "exec": f"""\
run your own program between the hosts over one leg, Dual Connectivity or several paths

`minitopo-dc shell` has the same options of path and scenario.

  words [COMMAND...]  the program and its arguments; words after -- are passed on unchanged
{PROGRAM}""",
    "shell": f"""open a shell on a host, over the same legs as exec
  --host client|server = client  host of the shell
{PROGRAM}""",
    "campaign": "run, resume and report many scenarios from one file",
    "campaign run": f"""run the missing runs, then write the report
  campaign FILE.py|NAME  a campaign's file, which is run as a program, or a study's name (campaign
      list)
  --output DIR  results directory, new or to be resumed (default: results/NAME[-VERSION][-CLOCK])
| --quick  run the small version of the file
| --sample  run a few cases that span the file's range, for example to compare clocks
  --clock real|virtual  clock (default: the file's)
  --only LABEL=VALUE*  run only the cases with this value of a label; repeatable
  --seeds N...  seeds (default: the file's)
  --again [failed|disturbed|unsupported...]  repeat runs with this status; without one: all three
  --dask ADDRESS  address of a Dask scheduler: tcp://HOST:PORT
  --dask-without-tls  accept a scheduler on a public address without TLS (docs/security.md)
  --dry-run  check the file and count the runs; on the real clock estimate their time
{JOBS}{RETRIES}""",
    "campaign status": """count finished, failed and missing runs, with reasons
  directory DIR  results directory of campaign run
  --json  print numbers and failures as JSON
""",
    "campaign report": """write an HTML report with all figures
  directory DIR  results directory of campaign run
  --output DIR  report directory (default: DIR/report)
  --figures svg|pdf|png...  kinds of the figures' files in figures/, beside svg (default: none)
  --tables csv|latex...  kinds of the tables' files in tables/ (default: none)
  --file FILE.py|NAME  a campaign's file, whose report(runs) adds its sections (it is run)
""",
    "campaign list": "list the studies that can be run by name",
    "calibrate": f"""\
measure the rate, delay, jitter and loss of each leg and compare them with the settings
  --seconds S = 10  duration of each of the two measurements of a leg (at least 2)
{SEED}{SET}  --output DIR  results directory; new, or that of an unfinished calibration (default:
      results/calibrate-TIME)
  --json  print the runs as a JSON list instead of the table
{legs("20,20")}""",
    "trace": "describe, synthesise and convert capacity traces",
    "trace info": f"""print statistics of a trace or a drive as JSON
{SOURCE}""",
    "trace convert": f"""convert a trace to CSV, or to Mahimahi (*.mahimahi)
{SOURCE}  output OUTPUT  file to write
  --step MS  resample to steps of this length, whole ms
  --carrier NAME  the file logs a channel: its --column is NAME:cqi or NAME:mcs of this carrier
  --layers-column NAME  with --carrier: column of the layers (default: none)
  --share-column NAME  with --carrier: column of the percent of the resource blocks (default: none)
  --uplink  with --carrier: of its uplink
""",
    "trace synthesise": """synthesise an LTE-like trace as CSV
  output FILE  CSV file to write
  --seed N = 1  seed of shadowing and of other users
  --seconds S = 60  duration
  --mean MBPS = 10  mean rate
""",
    "trace cells": f"""print how many channels a drive has, and their capacity
  cells FILE...  files of cells or channels
  --figure PNG  draw channels and capacity to this file
{RADIO}""",
    "trace channels": f"""compute channels from a log of cells, as CSV
  cells CELLS...  files of cells to read
  output OUTPUT  CSV file to write
{RADIO}""",
    "trace synthesise-drive": """synthesise a drive's log of cells as CSV
  output FILE  CSV file to write
  --environment entire|residential|road = entire  environment
  --seed N = 1  seed of the drive
  --seconds S = 1800  duration in whole s
  --noise NUMBER = 0  standard deviation of each cell's RSRP from second to second in dB
""",
    "template": "render Minitopo topology and experiment files from templates",
    "template list": "list the templates and their parameters",
    "template render": """render a template and check the file
  name NAME  a name of minitopo-dc template list, or the path of a template of your own
  values [KEY=VALUE...]  parameters, as minitopo-dc template list has
  -o --output FILE  output file (default: stdout)
""",
    "minitopo": f"""\
run in your own Minitopo checkout, with topoType:DualConnectivity and these experiments
  --minitopo DIR!  Minitopo checkout (core/, topos/)
{TOPOLOGY.replace("TOPO ", "TOPO! ")}{EXPERIMENT}\
  --ip 4|6 = 4  IP version of the transports' addresses
  --output DIR  results directory; must not exist (default: results/minitopo-TIME)
""",
    "build": """\
build the native core, picoquic, noq, the Linux guest, or a proxy, or get aioquic of 2020

To be run as an ordinary user.

`picoquic`: transports quic-picoquic and mpquic-picoquic, on both clocks. pip downloads the sources.
Needs a C compiler and the headers of Python and OpenSSL; prints the extension's path; changed
sources are built anew.
`native`: the native core, by which runs on the virtual clock are faster (docs/virtual-clock.md).
Needs a C compiler and Python's headers, and no network.
`noq`: transports quic-noq and mpquic-noq, on both clocks. cargo fetches the crates. Needs Rust 1.88
or newer and a C compiler, and takes 2 minutes.
`aioquic-2020`: aioquic 0.8.7, for quic-aioquic-2020, on both clocks. pip downloads it;
nothing is compiled.
`linux`: a Linux kernel as a process, for tcp and mptcp on the virtual clock. The sources are those
of the distribution's package linux-source-6.12, or what `--source` names. Needs flex, bison, bc and
a C compiler, and 5 minutes of a processor. An interrupted build goes on.
`proxy`: the MPTCP proxy of `mode: atsss` on the real clock. Needs a C compiler.

  target TARGET  one of picoquic, native, noq, linux, proxy, aioquic-2020
  --source PATH  sources for linux: a tree or an archive of Linux 6.12 (default: those of the
      package linux-source-6.12)
""",
    "check": """report what this machine can run, or what a scenario needs
  scenario [SCENARIO.yaml]  check this scenario instead: windows, timers, queues and sizes against
      its legs
  --json  print findings, or needs, as JSON
""",
    "clean": """\
remove what killed runs left: processes, hosts with their rules, temporary directories""",
}
"""The commands and their actions. A command is a module of this folder (`entry.MODULES`)."""
