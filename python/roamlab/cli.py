"""The command line. Each command imports its modules itself, so that `roamlab --help` is quick.

Exit codes: 0 done; 1 a run failed; 2 invalid input; 130 interrupted. Results go to standard output; progress,
notes and errors to standard error.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from roamlab.base.screen import accept_any_text, console, say, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers import Session
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.report import Report

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

_NUMBER = click.IntRange(0, 2**64 - 1)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_STORE = Path("out/store")
_ANY_PATH = click.Path(path_type=Path)
_RUNS = Path("out/runs")
_SET = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change a field of the scenario, as in --set 'run.duration=14 s'; may be given more than once.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def _complete_paper(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Names of papers, for the shell."""
    from roamlab import papers

    return [name for name in ("all", *papers.names()) if name.startswith(begun)]


def _complete_profile(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Names of TCP profiles, for the shell."""
    from roamlab.scenarios import profiles

    return [name for name in profiles.names() if name.startswith(begun)]


def _print_json(data: Any) -> None:
    import json

    say(json.dumps(data, indent=1, allow_nan=False).replace("\x7f", "\\u007f"))


def _run_folder(named: Path | None) -> Path:
    """The run folder that is meant: without a path, or by the word `latest`, the newest in out/runs."""
    from roamlab.base.errors import BadInput

    if named is not None and (named != Path("latest") or named.exists()):
        return named
    made = [(path.stat().st_mtime_ns, path) for path in _RUNS.glob("*/") if (path / "manifest.json").exists()]
    if not made:
        raise BadInput(
            "RUN",
            f"there is no run in {_RUNS}",
            expected="a run folder",
            remedy="simulate one with `roamlab run SCENARIO`, or name its folder",
        )
    newest = max(made)[1]
    say(f"run: {shown(newest)}, the newest of {len(made)} in {_RUNS}", err=True)
    return newest


def _load(path: Path, changes: Sequence[str]) -> Scenario:
    """The scenario in a file, with the changes of `--set`."""
    from roamlab.scenarios.scenario import assigned, load

    wanted = assigned(changes)
    loaded = load(path)
    return loaded.set_all(wanted) if wanted else loaded


class _Commands(click.Group):
    """Commands that are found by other words too: one that is not there is looked for in what the others say."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            word = args[0].lower()
            said = {name: (command.help or "").lower() for name, command in self.commands.items()}
            meant = [name for name, text in said.items() if word in text.partition("\n")[0].split()]
            if not meant or "Did you mean" in error.format_message():
                raise
            raise click.UsageError(
                f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, meant[:2]))}?", ctx
            ) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="roamlab")
def cli() -> None:
    """What TCP and UDP feel when a host moves."""


@cli.command()
@click.argument("paper", shell_complete=_complete_paper)
@click.option("--out", type=_FOLDER, help="Folder for the report.  [default: out/PAPER]")
@click.option("--store", type=_FOLDER, default=_STORE, show_default=True, help="Where runs are kept.")
@click.option("--runs", type=click.IntRange(1), help="Repetitions.  [default: the paper's]")
@click.option("--threads", type=click.IntRange(1), help="Runs at a time.  [default: all processors]")
@click.option(
    "--explore",
    is_flag=True,
    help="Instead, search the space of what the paper leaves open: where does each claim come out?",
)
@click.option(
    "--fit",
    is_flag=True,
    help="Instead, search for the one setting for all claims under which most results hold.",
)
@click.option(
    "--settings", type=click.IntRange(10), help="How many settings of the space to try.  [default: 200]"
)
@click.option(
    "--blocks",
    type=click.IntRange(2),
    help="Instead, decide the claims in so many disjoint blocks of runs: which verdicts turn?",
)
@_JSON
def reproduce(
    paper: str,
    out: Path | None,
    store: Path,
    runs: int | None,
    threads: int | None,
    settings: int | None,
    blocks: int | None,
    *,
    explore: bool,
    fit: bool,
    as_json: bool,
) -> None:
    """Measure a paper's claims and write the report. Interrupted, it goes on where it stopped when called again.

    PAPER is one of those that `roamlab list` shows, or `all`: every paper, with an index of all claims.
    """
    import json

    from roamlab import papers
    from roamlab.base.errors import BadInput, did_you_mean
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.papers import reproducing, robustness
    from roamlab.running.ensemble import processors
    from roamlab.showing import report
    from roamlab.statistics import claims

    if paper == "all":
        if option := _only_one_paper(explore, fit, settings, blocks):
            raise BadInput(
                option,
                "one paper is searched at a time",
                expected="with it a paper's name",
                remedy=f"`roamlab reproduce {papers.names()[0]} --explore`, or `roamlab reproduce all` alone",
            )
        _reproduce_all(out or Path("out/all"), store, runs, threads or processors(), as_json)
        return
    if paper not in papers.names():
        raise BadInput(
            f"paper {paper!r}",
            "there is no such reproduction",
            expected=f"one of: all, {', '.join(papers.names())}",
            remedy=did_you_mean(paper, papers.names(), "`roamlab list` shows what can be named"),
        )
    mode = _mode(paper, (explore, fit, blocks), settings, apart=runs is not None and not blocks)
    out = out or Path("out") / (f"{paper}-{mode}" if mode != "claims" else paper)
    refuse_foreign(out, store)
    runs = runs or papers.paper(paper).RUNS
    with whole_folder(out) as draft:
        session = papers.Session(draft / "figures", draft / "tables", store, runs, threads or processors())
        if mode == "claims":
            found = reproducing.reproduce(paper, session)
            claims.write_json(found.claims, draft / "claims.json", found.robustness)
        else:
            found, data, told = _searched(paper, mode, session, settings, blocks)
            (draft / f"{mode}.json").write_text(robustness.text(data), encoding="utf-8")
            if mode == "explored":
                robustness.keep(paper, data, store)
        report.write(found, draft / "report.html")
    page = shown(out / "report.html")
    if as_json:
        written = (out / f"{mode}.json").read_text(encoding="utf-8")
        _print_json({"report": page, mode: json.loads(written)})
        return
    if mode == "claims":
        console().print(*claims.terminal_tables(found.claims))
        say(claims.remarks(found.claims, found.robustness))
        say(f"{claims.tally(found.claims)}.")
        say(found.searched)
    else:
        say(told)
    say(f"report: {page}")


def _only_one_paper(explore: bool, fit: bool, settings: int | None, blocks: int | None) -> str:
    """The option that needs the name of one paper, if one is given."""
    if fit or blocks is not None:
        return "--fit" if fit else "--blocks"
    return "--explore" if explore or settings is not None else ""


def _mode(
    paper: str, given: tuple[bool, bool, int | None], settings: int | None, *, apart: bool
) -> Literal["claims", "explored", "fit", "blocks"]:
    """What is asked for. Raises `BadInput` for options that do not go together; `apart`: one of the claims' own."""
    from roamlab.base.errors import BadInput

    explore, fit, _ = given
    asked = [
        option for option, is_given in zip(("--explore", "--fit", "--blocks"), given, strict=True) if is_given
    ]
    if len(asked) > 1 or (asked and apart) or (settings is not None and not (explore or fit)):
        raise BadInput(
            asked[0] if asked else "--settings",
            "these options do not go together",
            expected="one of --explore, --fit and --blocks; --settings with the first two; --runs with --blocks, or "
            "without any of them",
            remedy=f"`roamlab reproduce {paper} --explore --settings 200`",
        )
    if not asked:
        return "claims"
    return "explored" if explore else "fit" if fit else "blocks"


def _searched(
    paper: str, mode: str, session: Session, settings: int | None, blocks: int | None
) -> tuple[Report, dict[str, Any], str]:
    """The page of a search, its data, and the same for the terminal."""
    from roamlab import papers
    from roamlab.papers import blocks as in_blocks
    from roamlab.papers import exploring, fitting

    space, settings = papers.space(paper), settings or exploring.SETTINGS
    if mode == "explored":
        found, data = exploring.report(space, session, settings)
        return found, data, "\n".join(f"{name}: {of['robustness']}" for name, of in data["claims"].items())
    if mode == "fit":
        found, data = fitting.report(space, session, settings)
        return found, data, fitting.told(data)
    found, data = in_blocks.report(space, session, blocks or in_blocks.BLOCKS)
    return found, data, in_blocks.told(data)


def _reproduce_all(out: Path, store: Path, runs: int | None, threads: int, as_json: bool) -> None:
    """All papers, into folders of their own below `out`, and an index of their claims."""
    from roamlab.papers import index
    from roamlab.statistics import claims

    chapters, data = index.reproduce(out, store, runs, threads)
    every = [claim for chapter in chapters for claim in chapter.claims]
    lines = {name: line for chapter in chapters for name, line in chapter.robustness.items()}
    page = shown(out / "index.html")
    if as_json:
        _print_json({"report": page, **data})
        return
    console().print(*claims.terminal_tables(every))
    say(claims.remarks(every, lines))
    say(f"{claims.tally(every)}.")
    say(f"all schemes on one network: {index.STUDY}")
    say(f"report: {page}")


@cli.group()
def study() -> None:
    """Compare schemes beyond any one paper."""


@study.command("schemes")
@click.option(
    "--out", type=_FOLDER, default=Path("out/schemes"), show_default=True, help="Folder for page and CSV."
)
@click.option("--store", type=_FOLDER, default=_STORE, show_default=True, help="Where runs are kept.")
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Of each scheme with each application.",
)
@click.option("--threads", type=click.IntRange(1), help="Runs at a time.  [default: all processors]")
@_JSON
def study_schemes(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """All mobility schemes on one network and one move: what a download, a call and a video feel, and the cost.

    Interrupted, it goes on where it stopped when called again.
    """
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.ensemble import processors
    from roamlab.showing import report
    from roamlab.studies import schemes

    refuse_foreign(out, store)
    with whole_folder(out) as draft:
        found, means = schemes.study(runs, store, threads or processors(), draft)
        report.write(found, draft / "report.html")
    page = shown(out / "report.html")
    if as_json:
        _print_json({"report": page, "means": means})
        return
    console().print(schemes.terminal_table(means))
    say(f"report: {page}")


@cli.command()
@click.option(
    "--out", type=_FOLDER, default=Path("out/demo"), show_default=True, help="Folder for the figure."
)
@click.option("--store", type=_FOLDER, default=_STORE, show_default=True, help="Where runs are kept.")
def demo(out: Path, store: Path) -> None:
    """Draw a first figure: a download around a move, under four mobility protocols. Takes seconds.

    Its scenarios stand beside it, to be run and changed.
    """
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.ensemble import processors
    from roamlab.studies import demo as showing

    refuse_foreign(out, store)
    with whole_folder(out) as draft:
        lines, first = showing.demonstrate(store, processors(), draft)
    say("\n".join(lines))
    say(f"figure: {shown(out / showing.FIGURE)}")
    say(f"report: {shown(out / showing.PAGE)}")
    say(f"next: roamlab run {shown(out / first)}, then roamlab chart")


@cli.command()
@click.argument("scenario", type=_ANY_PATH)
@click.option("--seed", type=_NUMBER, default=1, show_default=True, help="Seed of every random stream.")
@click.option(
    "--run", "repetition", type=_NUMBER, default=0, show_default=True, help="Number of the repetition."
)
@_SET
@click.option("--out", type=_FOLDER, default=_RUNS, show_default=True, help="Folder of run folders.")
@_JSON
def run(
    scenario: Path, seed: int, repetition: int, changes: tuple[str, ...], out: Path, *, as_json: bool
) -> None:
    """Simulate a scenario and keep the result."""
    from roamlab.records.store import Store
    from roamlab.running.ensemble import Job, run_all
    from roamlab.showing import terminal

    # Polars, loaded by now, takes interrupts too, and gives up the files that it writes with a panic on the screen: the
    # interpreter takes them alone.
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    store = Store(out)
    loaded = _load(scenario, changes)
    _print_estimate(loaded, err=as_json)
    (results,) = run_all([Job(loaded, seed, repetition)], store, threads=1)
    folder = store.folder(results.manifest)
    # The newest run is the one that was asked for last, though it may have been made before.
    os.utime(folder)
    _print_warnings(results.warnings)
    if as_json:
        _print_json(terminal.as_data(results, folder))
        return
    screen = console()
    for part in terminal.tables(results, folder):
        screen.print(part)
    say(f"result: {shown(folder)}")


@cli.command()
@click.argument("sweep_file", metavar="SWEEP", type=_ANY_PATH)
@click.option("--out", type=_FOLDER, help="Folder for the result.  [default: out/sweeps/SWEEP's name]")
@click.option("--store", type=_FOLDER, default=_STORE, show_default=True, help="Where runs are kept.")
@click.option("--threads", type=click.IntRange(1), help="Runs at a time.  [default: all processors]")
@click.option("--cluster", metavar="ADDRESS", help="Address of a Dask scheduler, to run there.")
@click.option(
    "--patience",
    type=click.FloatRange(1),
    default=300.0,
    show_default=True,
    help="Seconds to wait for a worker of a cluster that has none.",
)
@_SET
@_JSON
def sweep(
    sweep_file: Path,
    out: Path | None,
    store: Path,
    threads: int | None,
    cluster: str | None,
    patience: float,
    changes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Run a scenario at many points. Interrupted, it goes on where it stopped when it is called again."""
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.executor import DaskCluster, LocalPool
    from roamlab.scenarios.scenario import assigned
    from roamlab.showing import terminal
    from roamlab.sweeps import compare, sweepresult
    from roamlab.sweeps.sweep import execute
    from roamlab.sweeps.sweepfile import load_sweep

    source = load_sweep(sweep_file, assigned(changes))
    out = out or Path("out/sweeps") / sweep_file.stem
    refuse_foreign(out, store)
    executor = DaskCluster(cluster, patience_s=patience) if cluster else LocalPool(threads)
    runs = execute(source.plan, store, executor)
    with whole_folder(out) as draft:
        differences = sweepresult.write(source, runs, draft)
    _print_warnings(runs.warnings)
    if as_json:
        found = {"result": shown(out), "means": terminal.rows(runs.means()), "warnings": runs.warnings}
        if differences is not None:
            found["differences"] = terminal.rows(differences)
        _print_json(found)
        return
    screen = console()
    screen.print(*sweepresult.tables(runs))
    if differences is not None:
        screen.print(
            f"\nDifferences to {source.baseline}", *compare.tables(differences), markup=False, sep="\n"
        )
    say(f"result: {shown(out)}")


@cli.command("compare")
@click.argument("first", metavar="A", type=_ANY_PATH)
@click.argument("second", metavar="B", type=_ANY_PATH)
@click.option("--metric", "metrics", multiple=True, help="What to compare; may be given more than once.")
@click.option("--runs", type=click.IntRange(2), default=30, show_default=True, help="Runs of each.")
@click.option(
    "--half-width",
    type=float,
    help="Go on until the interval of the one metric's difference is so narrow, in its unit.",
)
@click.option(
    "--budget", type=click.IntRange(2), default=1000, show_default=True, help="Runs of each then, at most."
)
@click.option("--seed", type=_NUMBER, default=1, show_default=True, help="Seed of every random stream.")
@click.option(
    "--out", type=_FOLDER, default=Path("out/compare"), show_default=True, help="Folder for figure and data."
)
@click.option("--store", type=_FOLDER, default=_STORE, show_default=True, help="Where runs are kept.")
@click.option("--threads", type=click.IntRange(1), help="Runs at a time.  [default: all processors]")
@_SET
@_JSON
def compare_(
    first: Path,
    second: Path,
    metrics: tuple[str, ...],
    runs: int,
    half_width: float | None,
    budget: int,
    seed: int,
    out: Path,
    store: Path,
    threads: int | None,
    changes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """What scenario B changes against scenario A: paired differences with 95 % intervals.

    Run n of both draws from the same random streams; p-values are corrected for their number after Holm.
    """
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.summary import check as check_metric
    from roamlab.showing import report, terminal
    from roamlab.sweeps import compare, page

    for metric in metrics:
        check_metric(metric, "--metric")
    number = runs if half_width is None else compare.until(metrics, half_width, runs, budget)
    base = _load(first, changes)
    refuse_foreign(out, store)
    wanted = metrics or compare.DEFAULT_METRICS
    other = _load(second, changes)
    if note := compare.unpaired_note(base, other):
        say(f"note: {note}", err=True)
    made = compare.compare(base, other, wanted, number, seed, store, threads)
    _print_warnings(made.warnings)
    frame = compare.differences(made, base.name)
    with whole_folder(out) as draft:
        figure = compare.draw(frame, base.name, draft)
        report.write(page.differences(frame, base.name, other.name, seed, figure), draft / "report.html")
        compare.write_json(frame, draft / "compare.json")
    if as_json:
        rows = terminal.rows(frame)
        _print_json({"result": shown(out), "differences": rows, "warnings": made.warnings})
        return
    screen = console()
    screen.print(f"{other.name} minus {base.name}", *compare.tables(frame), markup=False, sep="\n")
    say(f"result: {shown(out)}")


@cli.command()
@click.argument("scenario", type=_ANY_PATH)
@_SET
@click.option("--json", "as_json", is_flag=True, help="Print JSON, which `check` always does.")
def check(scenario: Path, changes: tuple[str, ...], *, as_json: bool) -> None:  # noqa: ARG001  (the same either way)
    """Print a scenario with every default filled in, as JSON; what in it has no effect, and what a run takes."""
    loaded = _load(scenario, changes)
    _print_json(loaded.parameters)
    _print_warnings(loaded.warnings)
    _print_estimate(loaded, err=True)


@cli.command()
@click.argument("scenario", type=_ANY_PATH)
@click.option(
    "--seed", type=_NUMBER, default=1, show_default=True, help="Seed that random plans are drawn from."
)
@click.option(
    "--run", "repetition", type=_NUMBER, default=0, show_default=True, help="Number of the repetition."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("network.svg"),
    show_default=True,
    help="File for the drawing.",
)
@_SET
def draw(scenario: Path, seed: int, repetition: int, out: Path, changes: tuple[str, ...]) -> None:
    """Draw a scenario's network: nodes, links, cells, and how hosts move, as SVG."""
    from roamlab.base.output import write_chart
    from roamlab.showing.network_drawing import drawing

    write_chart(out, drawing(_load(scenario, changes), seed, repetition))
    say(f"drawing: {shown(out)}")


@cli.command()
@click.argument("run_folder", metavar="[RUN]", type=_ANY_PATH, required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["pcapng", "ns2", "csv", "parquet", "arrow"]),
    required=True,
    help="Packets for Wireshark, ns-2's trace, or tables.",
)
@click.option(
    "--node", "nodes", multiple=True, metavar="NAME", help="(pcapng) What this node sends and gets."
)
@click.option("--link", "links", multiple=True, metavar="NAME", help="(pcapng) What goes over this link.")
@click.option("--payload", is_flag=True, help="(pcapng) Write the zeros that payloads are, too.")
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="(tables) Only this one.  [default: all]"
)
@click.option(
    "--out", type=_FOLDER, default=Path("out/export"), show_default=True, help="Folder for the files."
)
@_JSON
def export(
    run_folder: Path | None,
    form: str,
    nodes: tuple[str, ...],
    links: tuple[str, ...],
    tables: tuple[str, ...],
    out: Path,
    *,
    payload: bool,
    as_json: bool,
) -> None:
    """Write a run's packets or tables for other programs.

    RUN is a run folder; without one it is the newest in out/runs. Packets are those of the run made again from its
    manifest. --node, --link and --table may be given more than once.
    """
    from roamlab.exports import command

    request = command.Request(form, nodes, links, tables, payload)
    written = command.export(_run_folder(run_folder), request, out)
    if as_json:
        _print_json({"result": shown(out), "files": written})
        return
    what = {"pcapng": "packets", "ns2": "lines"}.get(form, "rows")
    say("\n".join(f"{shown(out / name)}: {count} {what}" for name, count in written.items()))


@cli.command()
def schema() -> None:
    """Print the JSON Schema of scenarios, for editors."""
    from roamlab import _roamlab

    say(_roamlab.schema())


@cli.command("list")
@click.option(
    "--profile",
    metavar="NAME",
    shell_complete=_complete_profile,
    help="Show every parameter of this TCP profile instead.",
)
@click.option(
    "--variant", metavar="NAME", default="reno", show_default=True, help="TCP variant of the profile."
)
@_JSON
def list_(profile: str | None, variant: str, as_json: bool) -> None:
    """List what a scenario can name, and the papers.

    With --profile: a TCP profile's parameters with value, unit, meaning and source, and what the profile rfc has
    where it differs.
    """
    import json

    from rich.table import Table
    from rich.text import Text

    from roamlab import _roamlab, papers
    from roamlab.scenarios import profiles

    if profile is not None:
        if as_json:
            _print_json(profiles.profile(profile, variant))
        else:
            console(least_width=120).print(profiles.terminal_table(profile, variant))
        return
    families = json.loads(_roamlab.catalogue()) | {
        "papers": [{"name": name, "summary": ""} for name in papers.names()]
    }
    if as_json:
        _print_json(families)
        return
    for family, rows in families.items():
        table = Table(title=family, title_justify="left", show_header=False, box=None)
        for row in rows:
            table.add_row(Text(row["name"], "bold"), Text(row["summary"]))
        console().print(table)


@cli.command()
@click.argument("run_folder", metavar="[RUN]", type=_ANY_PATH, required=False)
@click.option("--packet", type=_NUMBER, required=True, help="Serial number of the packet.")
def trace(run_folder: Path | None, packet: int) -> None:
    """Print a packet's way through a run, stop by stop.

    A line has the time in s, the stop, the place, the packet's serial number, its bytes on the wire, the number of
    tunnel headers it wears, and a detail where there is something to say. The run is made again from the manifest in
    its folder RUN; without one it is the newest in out/runs.
    """
    from roamlab import _roamlab
    from roamlab.base.errors import BadInput, within
    from roamlab.records.store import open_run
    from roamlab.running.run import run as simulate
    from roamlab.scenarios.scenario import Scenario

    folder = _run_folder(run_folder)
    made = open_run(folder).manifest
    if made.build_hash != _roamlab.build_hash():
        say("note: another build of the engine made this run; this is the present one's trace", err=True)
    with within(folder):
        again = simulate(Scenario(made.scenario_text, made.scenario_name), made.seed, made.run, trace=packet)
    if again.trace.is_empty():
        raise BadInput(
            f"--packet {packet}",
            "no packet of the run has this serial number",
            expected="a serial number from the run's deliveries, drops or signalling",
            remedy="look into the column `serial` of these tables",
        )
    for row in again.trace.iter_rows(named=True):
        seconds, nanoseconds = divmod(row["time_ns"], 10**9)
        line = (
            f"{seconds:>2}.{nanoseconds:09d} {row['stop']:<17} {row['place']:<9} {row['serial']:>6} "
            f"{row['wire_bytes']:>4} {row['tunnels']} {row['detail']}"
        )
        say(line.rstrip())


@cli.command("why")
@click.argument("words", metavar="[TABLE ROW] [RUN]", nargs=-1, type=click.Path())
@click.option("--flow", metavar="NAME", help="Only the stalls of this flow.")
@click.option("--stall", type=click.IntRange(1), help="Only this one; 1: the longest.")
@click.option("--check", is_flag=True, help="Run again without each suspect: does the stall go away?")
@_SET
@_JSON
def why_(
    words: tuple[str, ...],
    flow: str | None,
    stall: int | None,
    changes: tuple[str, ...],
    *,
    check: bool,
    as_json: bool,
) -> None:
    """Print why flows stalled, or what led to a row of a table, step by step to the root.

    Without TABLE and ROW: every stall of the run, longest first, with its chain of causes. A run that lacks the tables
    for that is made again with them from its manifest. TABLE is drops, tcp, packets, handovers, releases, signalling or
    causes; ROW its number from 0. RUN is a run folder, or the file of a scenario (.toml), which is simulated with
    seed 1; without one it is the newest in out/runs. With --set a run is made again with the change, from its seed.
    Runs that are made for this are not kept.
    """
    from roamlab.causes import command
    from roamlab.scenarios.scenario import assigned

    wanted = assigned(changes)
    table, folder = command.parse(words, stalls=flow is not None or stall is not None or check)
    found = command.explain(_run_folder(folder), wanted, table, flow, stall, check=check, as_json=as_json)
    if as_json:
        _print_json(found)
    else:
        say("\n".join(found))


@cli.command()
@click.argument("run_folder", metavar="[RUN]", type=_ANY_PATH, required=False)
@click.option("--host", metavar="NAME", help="Mobile host.  [default: the only one that moved]")
@click.option(
    "--handover", type=_NUMBER, help="Number of the visit it leads to; 0: the first cell.  [default: 1]"
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("chart.svg"),
    show_default=True,
    help="File for the drawing.",
)
@click.option("--text", is_flag=True, help="Print the rows instead: time in s, from -> to, what.")
@click.option("--all", "everything", is_flag=True, help="With --text: also the messages about no host.")
def chart(
    run_folder: Path | None,
    host: str | None,
    handover: int | None,
    out: Path,
    *,
    text: bool,
    everything: bool,
) -> None:
    """Draw the messages of a handover as a sequence chart.

    Messages with size and duration, lost ones with the reason, the phases of the handover, and the packets at its
    borders, from the tables in the run folder RUN; without one it is the newest in out/runs.
    """
    from roamlab.base.errors import within
    from roamlab.base.output import write_chart
    from roamlab.records.store import open_run
    from roamlab.showing import chart as charts
    from roamlab.showing.chart_svg import svg

    folder = _run_folder(run_folder)
    with within(folder):
        made = charts.chart(open_run(folder), host, handover)
    if text:
        say(made.text(everything=everything).removesuffix("\n"))
        return
    write_chart(out, svg(made))
    say(f"chart: {shown(out)}")


@cli.command("report")
@click.argument("run_folder", metavar="[RUN]", type=_ANY_PATH, required=False)
@click.option(
    "--out", type=_FOLDER, default=Path("out/report"), show_default=True, help="Folder for page and figures."
)
def report_(run_folder: Path | None, out: Path) -> None:
    """Write a run as one page: who moved, what stalled and why, what each flow received, and every message.

    Read from the run folder RUN; without one it is the newest in out/runs. A run that lacks the tables for stalls is
    made again with them from its manifest.
    """
    from roamlab.base.errors import within
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.explorer import command

    folder = _run_folder(run_folder)
    refuse_foreign(out)
    with whole_folder(out) as draft, within(folder):
        made, note = command.report(folder, draft)
    if note:
        say(f"note: {note}", err=True)
    say(made.headline)
    say(f"report: {shown(out / 'report.html')}")


@cli.command()
@click.argument("runs", metavar="[RUN] [RUN]", type=_ANY_PATH, nargs=-1)
@click.option(
    "--out", type=_ANY_PATH, default=Path("out/explore.html"), show_default=True, help="The page to write."
)
@click.option(
    "--from", "begin_s", type=float, default=0.0, help="Only from this time on, in s.  [default: 0]"
)
@click.option(
    "--to", "end_s", type=float, default=math.inf, help="Only to this time, in s.  [default: the end]"
)
def explore(runs: tuple[Path, ...], out: Path, begin_s: float, end_s: float) -> None:
    """Write a page to explore a run, or two side by side: every packet, window, queue, message and stall over time.

    The page is one file that opens in a browser without a network. RUN is a run folder; without one it is the newest in
    out/runs. A run that lacks the tables for stalls is made again with them from its manifest.
    """
    from roamlab.base.errors import BadInput
    from roamlab.explorer import command

    if len(runs) > 2:
        raise BadInput(
            f"explore {' '.join(map(str, runs))}",
            f"these are {len(runs)} runs",
            expected="one run, or two to stand side by side",
            remedy="name one or two run folders",
        )
    command.write([_run_folder(run) for run in runs or (None,)], out, begin_s, end_s)
    say(f"page: {shown(out)}")


@cli.command()
@click.argument("scenario", type=_ANY_PATH, required=False)
@click.option(
    "--out", type=_ANY_PATH, default=Path("out/play.html"), show_default=True, help="The page to write."
)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open it in the browser.")
def play(scenario: Path | None, out: Path, *, opens: bool) -> None:
    """Write the playground and open it: a page that runs a scenario in the browser, with sliders and a film.

    The page is one file that needs no network and no server. Without SCENARIO it begins with an example.
    """
    from roamlab.playground import command

    command.write(scenario, out)
    say(f"page: {shown(out)}")
    if opens:
        click.launch(out.resolve().as_uri())


@cli.command()
@click.argument("log", type=_ANY_PATH)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="What the log calls a column: time_s (or _ms, _us, _ns; time: dates of ISO 8601), host, from, to, gap_s.  "
    "[default: the same]",
)
@click.option("--where", "only", multiple=True, metavar="FIELD=VALUE", help="Only records with this value.")
@click.option(
    "--begin",
    default="0",
    show_default=True,
    help="The log's time at which a run begins: in its unit, or a date and time.",
)
def schedule(log: Path, columns: tuple[str, ...], only: tuple[str, ...], begin: str) -> None:
    """Print a log of handovers as a schedule, which a host's plan can follow.

    LOG has a record for each handover: it is CSV with a line of names, or has a JSON object on each line
    (.jsonl, .ndjson, .json).
    """
    from roamlab.traces import schedule as schedules

    fields = schedules.Fields.of(schedules.pairs("--column", columns))
    text, count = schedules.convert(
        log, fields, schedules.pairs("--where", only), schedules.number("--begin", begin)
    )
    say(text.removesuffix("\n"))
    say(f"{count} handovers", err=True)


@cli.command("compare-trace")
@click.argument("ours", type=_ANY_PATH)
@click.argument("theirs", type=_ANY_PATH)
@click.option(
    "--flow",
    "flows",
    multiple=True,
    metavar="NAME[=NAME]",
    help="Compare this flow only; OURS=THEIRS if the names differ.",
)
@click.option(
    "--events", metavar="LIST", help="Letters and variables, by commas.  [default: all that both show]"
)
@click.option("--tolerance", default="1 us", show_default=True, help="Largest difference in time.")
@click.option("--from", "start", default="0 s", show_default=True, help="Compare from this time on.")
@click.option("--until", "end", help="Compare to this time.  [default: the end]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["golden", "ns2", "ns2-variables", "xgraph", "run"]),
    help="Format of both.  [default: what they look like]",
)
def compare_trace(
    ours: Path,
    theirs: Path,
    flows: tuple[str, ...],
    events: str | None,
    tolerance: str,
    start: str,
    end: str | None,
    form: str | None,
) -> None:
    """Compare two traces of senders and receivers, and print their first difference.

    Events are S sent, K acknowledged, A arrived, D lost, B acknowledgement lost, Q queued, M marked, and variables by
    name (cwnd, ssthresh); V stands for all of a sender's, R for all of a RED queue's. Exit code 0: equal, 1: different,
    2: bad input. The word `latest` stands for the newest run in out/runs.
    """
    from roamlab.traces import compare_traces, open_trace

    mine, other = (open_trace(_latest(path), form) for path in (ours, theirs))
    span = (
        compare_traces.time_ns("--from", start),
        None if end is None else compare_traces.time_ns("--until", end),
    )
    left, right = compare_traces.sides(mine, other, compare_traces.choose(mine, other, events), flows, span)
    found = compare_traces.compare(left, right, compare_traces.time_ns("--tolerance", tolerance))
    say(compare_traces.report(found, left, right))
    if isinstance(found, compare_traces.Different):
        sys.exit(FAILED)


def _latest(named: Path) -> Path:
    return _run_folder(None) if named == Path("latest") and not named.exists() else named


def _print_warnings(warnings: list[str]) -> None:
    for warning in warnings:
        say(f"warning: {warning}", err=True)


def _print_estimate(scenario: Scenario, *, err: bool) -> None:
    """What a run may amount to, before it begins; `err`: to standard error."""
    from roamlab.base.limits import beyond_memory

    _, events, memory = scenario.advice
    size = f"{memory / 1e9:.1f} GB" if memory >= 1e9 else f"{max(1, round(memory / 1e6))} MB"
    say(f"estimate: up to about {events:.1e} events, {size} of records", err=err)
    if warning := beyond_memory(memory):
        _print_warnings([warning])


def main() -> None:
    """Run the command line; every expected failure is a message and an exit code, never a traceback."""
    accept_any_text()
    try:
        cli.main(prog_name="roamlab", standalone_mode=False)
    except click.ClickException as error:
        _fail(_usage(error), error.exit_code)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", INTERRUPTED)
    except Exception as error:
        from roamlab.base.errors import bad_path

        code = _exit_code(error)
        if code is None:
            raise
        # Who reads no further wants no report of it.
        _fail("" if isinstance(error, BrokenPipeError) else f"error: {bad_path(error) or error}", code)


def _usage(error: click.ClickException) -> str:
    """What click says of a command line that is wrong."""
    text = StringIO()
    error.show(text)
    return text.getvalue().rstrip("\n")


def _fail(text: str, code: int) -> NoReturn:
    """Say what is wrong, and exit. A standard stream that takes nothing more is closed without another error."""
    with suppress(OSError):
        if text:
            say(text, err=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _exit_code(error: Exception) -> int | None:
    """The exit code of a failure that is foreseen; None for a mistake of ours."""
    from roamlab import _roamlab
    from roamlab.base.errors import BadInput, RoamlabError, bad_path

    if isinstance(error, BadInput | _roamlab.ScenarioError) or bad_path(error):
        return BAD_INPUT
    if isinstance(error, _roamlab.SimulationError | RoamlabError | OSError):
        return FAILED
    return None
