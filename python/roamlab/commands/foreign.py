"""Options that a command lacks and other programs or commands have, with text to write instead."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    import click

_SEVERAL_RUNS = (
    "one run has one --seed and one --run; several are made by `roamlab compare A B --runs 30`, or by a sweep with "
    "`replications`"
)
_CHANGED = "a field of the scenario is changed by --set, for example --set 'run.duration=5 s'"
_PCAP = "record packets, --set record.packets=true, and afterwards write `roamlab export --format pcapng`"
_SERVED = "the page is one file and needs no server: leave it out, and open the file that is printed"
_FLOW_OF_TRACE = (
    "a packet is named by its serial number: write --packet 7; `serial` is a column of the tables `drops` and "
    "`deliveries`"
)
_MADE = "it reads a run: make one by `roamlab run FILE --seed 3 --set 'run.duration=5 s'`, and name its folder here"
_PART = "`roamlab explore RUN --from 9 --to 11` shows a part of a run"
_ALL = ""
"""Of a row: any command."""

_OTHER_OPTIONS: list[tuple[tuple[str, ...], str, str]] = [
    (("--runs", "--seeds", "--repetitions", "--replications", "--repeat"), "--run", _SEVERAL_RUNS),
    (("--run", "--repetitions", "--replications", "--repeat", "-n"), "--runs", "write --runs 30"),
    (
        ("--runs", "--replications", "--metric", "--metrics", "--until"),
        "--store",
        "write it in the sweep's file: see docs/sweeps.md",
    ),
    (("-o", "--output", "--outdir", "--output-dir", "--save"), "--out", "write --out and a name"),
    (
        ("--seed", "--run"),
        "--stall",
        "make the run first, roamlab run FILE --seed 3, and name its folder here",
    ),
    (
        ("--from", "--to", "--start", "--end"),
        "--format",
        "an export is of the whole run; --set changes `run.duration`",
    ),
    (("--seed",), "--cluster", "write `seed = 3` in the sweep's file"),
    (("--seed", "--run"), "--json", "it makes no run: `roamlab run FILE --seed 3` does"),
    (
        ("--baseline",),
        "--metric",
        "`roamlab compare A B` has the differences B minus A; a sweep's file has `baseline`",
    ),
    (
        (
            "--duration",
            "--time",
            "--sim-time",
            "--sim-time-limit",
            "--stop-time",
            "--stoptime",
            "--param",
            "--rate",
            "--bandwidth",
            "--bitrate",
            "--delay",
            "--loss",
            "--queue",
            "--limit",
            "--profile",
            "--variant",
            "--congestion",
            "--congestion-control",
            "--cc",
            "--mss",
            "--window",
            "--gap",
            "--tcp",
            "--udp",
            "--protocol",
            "-t",
            "-b",
            "-C",
            "-M",
            "-P",
            "-R",
            "-u",
        ),
        "--set",
        _CHANGED,
    ),
    (
        ("--grid", "--sweep", "--axis", "--vary", "--values"),
        _ALL,
        "the values to try are the `grid` of a sweep's file: see docs/sweeps.md",
    ),
    (
        ("--confidence", "--alpha", "--level", "--ci"),
        _ALL,
        "all intervals have 95 % confidence: leave it out",
    ),
    (("--pcap", "--pcapng", "--capture", "--dump", "-w"), "--format", "write --format pcapng"),
    (("--pcap", "--pcapng", "--capture", "--dump", "--tcpdump", "--trace", "-w"), _ALL, _PCAP),
    (
        ("--csv", "--parquet", "--table", "--tables", "--arrow"),
        "--json",
        "tables are written by `roamlab export --format csv`",
    ),
    (("--rngrun", "--RngRun", "--rng-run"), "--run", "write --run 3"),
    (("-s",), "--seed", "did you mean '--seed'?"),
    (("--rngseed", "--RngSeed", "--rng-seed", "--random-seed"), "--seed", "write --seed 3"),
    (
        ("--jobs", "-j", "--workers", "--parallel", "--processes", "--cores", "--procs"),
        "--threads",
        "write --threads 4",
    ),
    (
        ("--jobs", "-j", "--workers", "--parallel", "--processes", "--cores", "--threads"),
        "--run",
        "one run takes one processor: leave it out",
    ),
    (
        ("--resume", "--continue", "--restart"),
        "--store",
        "runs that are in the store are not made again: repeat the command as it was",
    ),
    (("--force", "--overwrite", "-y", "--yes"), _ALL, "no command asks: leave it out"),
    (
        (
            "--verbose",
            "-v",
            "-vv",
            "--quiet",
            "-q",
            "--debug",
            "--silent",
            "--log",
            "--log-level",
            "--no-progress",
        ),
        _ALL,
        "there are no levels of output: leave it out; notes and progress go to standard error",
    ),
    (("--dry-run", "--check", "--validate", "--lint"), _ALL, "a scenario is checked by `roamlab check FILE`"),
    (("--version", "-V"), _ALL, "write `roamlab --version`"),
    (
        ("--gui", "--show", "--view", "--animate", "--visualize"),
        _ALL,
        "a run is shown by `roamlab explore`, a scenario by `roamlab play FILE`",
    ),
    (("--plot", "--chart", "--graph"), _ALL, "charts are drawn by `roamlab chart` and `roamlab report`"),
    (("--latest", "--last", "--newest"), _ALL, "leave it out: without a folder the newest run is taken"),
]
"""Options that people expect of a command that has another one, and what to write instead."""

_OF_COMMANDS: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
    (
        ("play", "explore", "report", "chart"),
        ("--port", "--host", "--listen", "--serve", "--server", "--bind"),
        _SERVED,
    ),
    (
        ("report", "chart", "explore", "draw"),
        ("--format", "--pdf", "--png", "--html", "--svg", "--dpi"),
        "pages are HTML and drawings SVG: convert them with another program, or print the page into a PDF file",
    ),
    (
        ("run", "check", "sweep", "compare"),
        ("--format",),
        "tables are printed, or JSON with --json; `roamlab export --format csv` writes the tables of a run",
    ),
    (
        ("why",),
        ("--at", "--time", "--when", "--from", "--start"),
        "stalls are numbered, the longest first: write --stall 1, or --flow NAME",
    ),
    (
        ("why",),
        ("--row", "--table", "--drop", "--packet"),
        "a row is named by its table and number: roamlab why drops 0 RUN",
    ),
    (
        ("why",),
        ("--host", "--handover"),
        "stalls are of flows: write --flow NAME; a row of handovers is roamlab why handovers 0 RUN",
    ),
    (
        ("export",),
        ("--flow", "--flows", "--filter", "-Y", "--where", "--port"),
        "an export has all flows: filter what it writes; --table NAME chooses a table, --node and --link what a "
        "capture has",
    ),
    (("export",), ("--packets",), "write --format pcapng"),
    (("trace",), ("--flow", "--seq", "--sequence", "--serial", "--time", "--at", "--node"), _FLOW_OF_TRACE),
    (("chart",), ("--flow", "--node"), "a chart is of a host and its handover: write --host NAME"),
    (
        ("chart", "report"),
        ("--metric", "--table", "--title", "--width", "--height"),
        "other charts are made in Python: roamlab.open_run(folder) has the tables",
    ),
    (("report", "explore"), ("--flow", "--host", "--node"), "the page has all flows: leave it out"),
    (
        ("reproduce",),
        ("--claim", "--claims", "--figure", "--only", "--table", "--fig"),
        "all claims of a paper are measured together: leave it out; --runs 5 is quicker",
    ),
    (
        ("schedule",),
        ("--format",),
        "CSV or a JSON object on each line follows from the name of the file: leave it out",
    ),
    (("chart", "report", "explore", "export", "trace"), ("--seed", "--run", "--set", "--duration"), _MADE),
    (("chart", "report"), ("--from", "--to", "--start", "--end"), _PART),
    (
        ("demo",),
        ("--runs", "--seed", "--run", "--replications", "--repeat", "--metric", "--set"),
        "the demo makes one run of each of its scenarios; `roamlab study schemes --runs 30` makes several, and "
        "`roamlab run FILE` one of yours",
    ),
    (
        ("study",),
        ("--seed", "--run", "--set", "--metric"),
        "a study has its own network and seeds; `roamlab sweep` makes one of your scenario",
    ),
    (
        ("reproduce",),
        ("--seed", "--run", "--set", "--duration"),
        "scenarios and seeds are the paper's; --runs has the number of runs",
    ),
    (
        ("play",),
        ("--seed", "--run", "--set"),
        "change the scenario in the page, or in the file that is named",
    ),
    (
        ("run", "check", "sweep", "compare"),
        ("-u", "-c", "-n", "-l", "--cmdenv"),
        "a scenario is one file, and names all that a run needs: write roamlab run FILE; UDP is "
        '`transport = { kind = "udp" }` of a flow',
    ),
    (
        ("run",),
        ("--record", "--packets"),
        "what is recorded is written under [record], or --set record.packets=true",
    ),
    (("run",), ("--store",), "a run is a folder below --out"),
    (("compare",), ("--baseline", "--reference"), "A is the baseline: the differences are B minus A"),
    (("compare-trace",), ("--json",), "what it prints is text: leave it out"),
    (("shell", "export"), ("--host", "--at", "--on"), "write --node NAME"),
]
"""Options that people expect of some commands."""

ONE_SCENARIO = (
    "two scenarios are compared; the values of one field are compared by a sweep (docs/sweeps.md), and another "
    "scenario is a copy of the file with the change"
)
"""For a comparison of one scenario with nothing."""

_FILES = (
    "--scenario",
    "--file",
    "--input",
    "--config",
    "--run-folder",
    "--folder",
    "-f",
    "-i",
    "-s",
    "-c",
    "-r",
)
_WRITTEN = ("--out", "-o", "--output", "--save")


def advice(option: str, ctx: click.Context, others: Mapping[str, click.Command]) -> str:
    """Text to write instead of an option that the command does not have; `others` are all commands."""
    command, words = ctx.command, ctx.command_path.split()
    has = {name for parameter in command.params for name in parameter.opts}
    for commands, options, text in _OF_COMMANDS:
        if any(word in commands for word in words) and option in options:
            return text
    for options, own, text in _OTHER_OPTIONS:
        if option in options and own in (*has, _ALL):
            return text
    named = [each.make_metavar(ctx) for each in command.params if each.param_type_name == "argument"]
    if option in _FILES and named:
        return f"write the name alone: roamlab {command.name} {named[0].strip('[]')}"
    if option in _WRITTEN:
        return "it prints its result: write > FILE behind the command"
    if close := _closest(option, has):
        return f"did you mean {close!r}?"
    known = sorted(having(option, others))
    listed = ", ".join(
        sorted({max(each.opts, key=len) for each in command.params if each.param_type_name == "option"})
    )
    here = f"`roamlab {command.name}` has {listed or 'no options'}"
    if known:
        return f"it is an option of {', '.join(f'`roamlab {name}`' for name in known[:4])}; {here}"
    return here


def having(option: str, commands: Mapping[str, click.Command]) -> list[str]:
    """The names of the commands that have an option."""
    return [
        name
        for name, command in commands.items()
        if any(option in parameter.opts for parameter in command.params)
    ]


def _closest(option: str, has: Set[str]) -> str:
    """The option that is a slip away, if one is: the hyphens before it do not count."""
    bare = {name.lstrip("-"): name for name in has if name.startswith("--")}
    found = difflib.get_close_matches(option.lstrip("-"), bare, 1, 0.75) if option.startswith("--") else []
    return bare[found[0]] if found else ""
