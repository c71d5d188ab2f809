"""No mistake of a user is without an answer, and the answer has the text to write (mistakes.toml)."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

import pytest
import tomli
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from roamlab.base import output
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

MOVES = ROOT / "examples/handover.toml"
MISTAKES = tomli.loads((ROOT / "tests/python/mistakes/mistakes.toml").read_text(encoding="utf-8"))
TEXT = MOVES.read_text(encoding="utf-8")


def answer(text: str) -> str:
    """Reports on a scenario: an error, or warnings."""
    scenario = rl.Scenario(text, "lab.toml")
    try:
        return "\n".join(scenario.warnings)
    except rl.ScenarioError as error:
        return str(error)


def test_the_table_has_a_hundred_mistakes_and_more() -> None:
    assert sum(len(MISTAKES[table]) for table in ("wired", "moves", "commands", "sweeps")) >= 250
    assert not answer(MISTAKES["base"])
    assert not answer(TEXT)


@pytest.mark.parametrize(
    ("base", "table"), [(MISTAKES["base"], "wired"), (TEXT, "moves")], ids=["wired", "moves"]
)
def test_a_scenario(base: str, table: str) -> None:
    wrong = []
    for find, write, words in MISTAKES[table]:
        assert find in base
        said = answer(base.replace(find, write, 1))
        wrong += [(write, word, said) for word in words if word not in said]
    assert not wrong


def test_another_example() -> None:
    wrong = []
    for file, find, write, words in MISTAKES["others"]:
        text = (ROOT / "examples" / file).read_text(encoding="utf-8")
        assert find in text
        assert not answer(text)
        said = answer(text.replace(find, write, 1))
        wrong += [(write, word, said) for word in words if word not in said]
    assert not wrong


def test_what_the_standard_writes_for_no_rts_is_no_mistake() -> None:
    text = (ROOT / "examples/roaming.toml").read_text(encoding="utf-8")
    for size in ("2347 B", "500 B"):
        medium = f'medium = {{ kind = "dcf", rts_threshold = "{size}" }}'
        assert not answer(text.replace('medium = { kind = "dcf" }', medium))


def said_of(arguments: list[str]) -> str:
    """The error of a command, which has to fail."""
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code != 0, arguments
    return f"{done.output}\n{done.exception}"


def test_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(TEXT, encoding="utf-8")
    for written in ("lab", "labb.toml"):
        assert f"did you mean {tmp_path / 'lab.toml'}?" in said_of(["run", str(tmp_path / written)])


def test_a_command() -> None:
    wrong = []
    for arguments, words in MISTAKES["commands"]:
        put = [str(MOVES) if argument == "FILE" else argument for argument in arguments]
        said = said_of(put)
        wrong += [(arguments, word, said) for word in words if word.replace("FILE", str(MOVES)) not in said]
    assert not wrong


def test_a_flow_of_a_program_is_warned_of_by_check(tmp_path: Path) -> None:
    """`roamlab run` refuses it, and `roamlab shell` makes such flows itself."""
    flow = 'app = { kind = "ftp", start = "0.1 s" }'
    transport = 'transport = { kind = "tcp", variant = "reno", window = "64 pkt", segment = "512 B" }'
    text = TEXT.replace(flow, 'app = { kind = "program" }', 1).replace(transport, "", 1)
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", str(tmp_path / "lab.toml")])
    assert done.exit_code == 0
    assert "field `flows[0].app.kind`" in done.stderr
    assert "run the rest by `roamlab shell`" in done.stderr


def test_what_a_run_does_not_have_is_refused(tmp_path: Path) -> None:
    store = rl.Store(tmp_path)
    (made,) = rl.run_all([rl.Job(rl.load(MOVES).set("run.duration", "1 s"), 1)], store)
    folder = str(store.folder(made.manifest))
    said = said_of(
        ["export", folder, "--format", "csv", "--table", "packets", "--out", str(tmp_path / "out")]
    )
    assert "--table packets: the run did not record it" in said
    assert "write `packets = true` under [record]" in said
    said = said_of(["compare-trace", folder, folder, "--from", "3 s", "--until", "1 s"])
    assert "the comparison ends before it begins" in said
    assert "write --from 1 s --until 3 s" in said


def test_an_option_that_is_far_from_all_is_not_taken_for_another() -> None:
    assert "did you mean" not in said_of(["sweep", str(MOVES), "--resume"])
    assert "did you mean '--threads'" in said_of(["sweep", str(MOVES), "--thread", "2"])


def test_help_is_a_command() -> None:
    for arguments, says in [
        (["help"], "Commands:"),
        (["help", "run"], "Simulate a scenario"),
        (["version"], "engine behaviour"),
    ]:
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0
        assert says in done.output


def test_a_sweep(tmp_path: Path) -> None:
    base = (
        f'scenario = "{MOVES}"\nreplications = 2\nmetrics = ["flows.moving.goodput_bps"]\n\n[grid]\n'
        '"mobility.buffer.limit" = ["4 pkt", "16 pkt"]\n'
    )
    wrong = []
    for find, write, words in MISTAKES["sweeps"]:
        assert find in base
        file = tmp_path / "sweep.toml"
        file.write_text(base.replace(find, write, 1), encoding="utf-8")
        said = said_of(["sweep", str(file), "--out", str(tmp_path / "out")])
        wrong += [(write, word, said) for word in words if word not in said]
        assert r"\u{a}" not in said
    assert not wrong


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "series.csv",
            "Timestamp,PCI\n2025-05-03T10:00:00.00Z,301\n",
            ("series of serving cells", '--column cell="PCI" --host phone'),
        ),
        (
            "series_de.csv",
            "Day;Timestamp [dd.mm.yyyy,hh:mm:ss.ss];PCI\nSat;03.05.2025,10:00:00.00;301\n",
            ("series of serving cells", '--column cell="PCI" --host phone'),
        ),
        (
            "ping.out",
            "[1716821959.628708] PING 192.0.2.1 (192.0.2.1) 38(66) bytes of data.\n[1716821959.629152] 46 bytes\n",
            ("output of ping", "gap_s"),
        ),
    ],
)
def test_a_file_that_is_no_log_of_handovers(
    tmp_path: Path, name: str, text: str, words: tuple[str, ...]
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    said = said_of(["schedule", str(file)])
    assert all(word in said for word in words), said


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('bgscan = "simple:30:-65:300"', ("background_scan", "short_interval", 'signal = "positions"')),
        ("rssi = -70", ("background_scan", "threshold_dbm")),
        ("btm = true", ("transitions",)),
        ("background_scan = {}", ("radio.background_scan", "measurement = {}")),
        ('measurement = { signal = "positions" }', ("trajectory",)),
        ("measurement = {}\nap_held_frames = 3", ("radio.ap_held_frames", "background_scan")),
        ('measurement = { t310 = "2 s" }', ("radio.measurement.t310", "missed_beacons")),
        ('transitions = [{ cell = "ap1", at = "1 h" }]', ("radio.transitions[0].at", "the run ends at 10 s")),
        ('on_transition = "refuse"', ("radio.on_transition", "transitions")),
    ],
)
def test_what_roaming_by_signal_needs_is_named(written: str, words: tuple[str, ...]) -> None:
    text = (ROOT / "examples/roaming.toml").read_text(encoding="utf-8")
    said = answer(text.replace("missed_beacons = 3", f"missed_beacons = 3\n{written}", 1))
    assert all(word in said for word in words), said


def test_a_fault_and_a_loss_that_nothing_met_are_reported_after_the_run() -> None:
    fault = '[[faults]]\nmessage = "registration-request"\noccurrences = [1000]\n\n[[flows]]'
    link = 'between = ["ch", "fa1"]\nreverse_drops = [{ flow = "moving", packets = [100000] }]\n'
    text = TEXT.replace("[[flows]]", fault, 1).replace('between = ["ch", "fa1"]\n', link, 1)
    scenario = rl.Scenario(text.replace('"40 s"', '"1 s"'), "lab.toml")
    said = rl.run(scenario).warnings
    assert any("message 1000 of `registration-request` was never sent" in line for line in said), said
    assert any("reverse_drops[0]: no packet was lost" in line for line in said), said


@pytest.mark.parametrize(
    ("find", "write", "said"),
    [
        ('delay = "20 ms"', 'delay = "20 s"', "no data arrived; what it sent was still on the way"),
        (
            'delay = "20 ms"',
            'delay = "20 ms"\nchanges = [{ at = "0 s", up = false }]',
            "packets of it were lost, most at r->b (link-down)",
        ),
        (
            'start = "0 s" }',
            'start = "1 s", start_within = "99999 s" }',
            "its random start came after the end",
        ),
    ],
)
def test_a_flow_of_which_nothing_arrives_is_reported_after_the_run(find: str, write: str, said: str) -> None:
    """A run of 10 s has room for a SYN and its repairs."""
    results = rl.Scenario(MISTAKES["base"].replace(find, write, 1), "lab.toml").run()
    assert any("flow file" in line and said in line for line in results.warnings), results.warnings


def test_a_topology_that_is_too_large_is_refused_at_its_levels(tmp_path: Path) -> None:
    text = (ROOT / "examples/bcmp.toml").read_text(encoding="utf-8")
    text = text.replace("depth = 2\nfan_out = 2", "depth = 12\nfan_out = 10", 1)
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    said = said_of(["run", str(tmp_path / "lab.toml")])
    assert "lab.toml:28:" in said
    assert "field `topology[0].depth`" in said
    assert "write a smaller `depth` or `fan_out`" in said


def test_a_recording_that_is_a_thousand_times_too_slow(tmp_path: Path) -> None:
    (tmp_path / "slow.down").write_text("1000\n4000\n", encoding="utf-8")
    text = MISTAKES["base"].replace('rate = "10 Mbit/s"', 'rate = { trace = "slow.down" }')
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    said = "\n".join(rl.load(tmp_path / "lab.toml").warnings)
    assert "field `links[1].rate.trace`: this recording sends a packet each 2.0 s on average" in said
    assert "times in the file are in milliseconds" in said


BUSY = (ROOT / "examples/busy-cell.toml").read_text(encoding="utf-8")
STREET = (ROOT / "examples/gallery/street.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "find", "write", "said"),
    [
        (BUSY, 'window = "48 pkt"', 'window = "1 pkt"', "download (1 pkt,"),
        (
            BUSY,
            'profile = "rfc"\n',
            'profile = "own"\n[tcp_profiles.own]\nbased_on = "rfc"\nmax_cwnd = "4 pkt"\n',
            "a larger `max_cwnd` in the profile",
        ),
        (
            BUSY,
            'between = ["server", "core"]',
            'between = ["server", "core"]\ndrops = [{ packets = [10000000] }]',
            "none with these numbers entered server->core",
        ),
        (
            BUSY,
            'start_within = "1 s" }',
            'start_within = "5 s", stop = "600 ms" }',
            "its random start came after its `stop`",
        ),
        (
            STREET.replace("path_loss = { shadowing_db = 4.0 }", ""),
            "[450.0, 0.0]",
            "[200.0, 0.0]",
            "write points nearer to another cell in `hosts[0].trajectory.waypoints_m`",
        ),
    ],
)
def test_what_the_run_shows_alone(text: str, find: str, write: str, said: str) -> None:
    warnings = rl.Scenario(text.replace(find, write, 1), "lab.toml").run().warnings
    assert any(said in line for line in warnings), warnings


def test_a_flow_that_stops_too_early_has_one_warning() -> None:
    text = BUSY.replace('start = "0.5 s", start_within = "1 s" }', 'start = "0.5 s", stop = "8 s" }', 1)
    (said,) = rl.Scenario(text, "lab.toml").run().warnings
    assert "no flow sees the handover" in said


def test_a_giant_value_is_shortened() -> None:
    giant = "x" * 20_000
    for text in (
        TEXT.replace('kind = "mobile-ip"', f'kind = "{giant}"'),
        TEXT.replace('"bs2", at', f'"{giant}", at'),
        TEXT.replace("[mobility]", f"[mobility]\n{giant} = 1"),
        TEXT.replace('duration = "40 s"', f'duration = "{giant}"'),
    ):
        assert giant in text
        said = answer(text)
        assert "characters left out" in said
        assert len(said) < 10_000
    with pytest.raises(rl.BadInput) as caught:
        rl.sweep(rl.Scenario(TEXT), {"radio.gap": giant})
    assert len(str(caught.value)) < 2_000


def test_a_sweep_shows_no_line_of_a_file_that_is_no_scenario(tmp_path: Path) -> None:
    """A sweep from another person may name any file that its reader can read."""
    sweep = tmp_path / "sweep.toml"
    for content in (
        "user:secret:1\n",
        'password = "secret"\n',
        "[secret]\nrun = 1\n",
        "run = { secret = 1 }\n",
    ):
        (tmp_path / "keys").write_text(content, encoding="utf-8")
        sweep.write_text('scenario = "keys"\n[grid]\n"a.b" = [1]\n', encoding="utf-8")
        said = said_of(["sweep", str(sweep)])
        assert "keys is not a scenario" in said
        assert "secret" not in said


def test_a_recording_that_begins_after_the_run_is_reported(tmp_path: Path) -> None:
    """Times in microseconds, for example."""
    for file in (ROOT / "examples/imported").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert not rl.load(tmp_path / "drive.toml").warnings
    (tmp_path / "cell.down").write_text("1000000\n2000000\n", encoding="utf-8")
    said = "\n".join(rl.load(tmp_path / "drive.toml").warnings)
    assert "the first opportunity of this recording is at 16 min 40 s" in said or "is at 1000 s" in said, said
    assert "milliseconds" in said


CHANCE = TEXT.replace('duration = "40 s"', 'duration = "2 s"').replace(
    'start = "0.1 s"', 'start = "0.1 s", start_within = "300 ms"'
)


def _sweep_file(folder: Path, lines: str) -> str:
    (folder / "lab.toml").write_text(CHANCE, encoding="utf-8")
    axis = '[grid]\n"mobility.buffer.limit" = ["4 pkt", "16 pkt"]\n'
    (folder / "sweep.toml").write_text(f'scenario = "lab.toml"\n{lines}\n{axis}', encoding="utf-8")
    return str(folder / "sweep.toml")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            'replications = { metric = "flows.moving.goodput_bps", half_width = 5, minimum = 5, budget = 6 }',
            ("the goal of ± 5 bit/s was missed at 2 of 2 points", "after the budget of 6 runs", "(in bit/s)"),
        ),
        (
            'replications = 2\nmetrics = ["flows.moving.disruption_s"]\nset = { "record.deliveries" = false }',
            ("it needs the table deliveries: write `record.deliveries = true`",),
        ),
        (
            'replications = 2\nmetrics = ["flows.moving.disruption_s"]\n'
            'set = { "hosts.mh.visits" = [{ cell = "bs1", at = "0 s" }] }',
            ("no host of the scenario visits a second cell",),
        ),
    ],
)
def test_a_sweep_that_says_less_than_was_asked_tells_why(
    tmp_path: Path, lines: str, words: tuple[str, ...]
) -> None:
    options = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, ["sweep", _sweep_file(tmp_path, lines), *options])
    assert all(word in done.stderr for word in words), done.output


def test_a_goal_that_is_reached_is_no_warning(tmp_path: Path) -> None:
    rule = 'replications = { metric = "flows.moving.goodput_bps", half_width = 1e9, minimum = 5, budget = 9 }'
    options = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, ["sweep", _sweep_file(tmp_path, rule), *options])
    assert done.exit_code == 0
    assert "was missed" not in done.stderr


def test_a_comparison_whose_difference_is_set_away_or_not_reached(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(CHANCE, encoding="utf-8")
    other = rl.Scenario(CHANCE).set("cells.bs1.queue.limit", "7 pkt").text
    (tmp_path / "b.toml").write_text(other, encoding="utf-8")
    both = ["compare", str(tmp_path / "a.toml"), str(tmp_path / "b.toml")]
    said = said_of([*both, "--set", "cells.bs1.queue.limit=9 pkt"])
    assert "--set changes both" in said
    rule = ["--metric", "flows.moving.goodput_bps", "--runs", "5", "--half-width", "0.001", "--budget", "6"]
    options = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, [*both, *rule, *options])
    assert "the goal of ± 0.001 bit/s was missed at 1 of 1 points" in done.stderr, done.output
    assert "the difference at" in done.stderr


def test_names_of_a_run_that_it_does_not_have(tmp_path: Path) -> None:
    store = rl.Store(tmp_path)
    (made,) = rl.run_all([rl.Job(rl.load(MOVES).set("run.duration", "1 s"), 1)], store)
    folder = str(store.folder(made.manifest))
    said = said_of(["compare-trace", folder, folder, "--flow", "moving=movin"])
    assert "THEIRS" in said
    assert "did you mean 'moving'?" in said
    said = said_of(
        ["export", folder, "--format", "pcapng", "--link", "bs1->mh", "--out", str(tmp_path / "out")]
    )
    assert "write --link 'bs1/air'" in said


def test_a_manifest_that_was_edited_is_refused(tmp_path: Path) -> None:
    """Its tables are of the run that it described, and what is made again would be another one."""
    folder = rl.Store(tmp_path).write(rl.run(rl.load(MOVES).set("run.duration", "1 s")))
    manifest = folder / "manifest.json"
    before = manifest.read_text(encoding="utf-8")
    for find, write in (('"seed": 1', '"seed": 2'), ("120 pkt", "121 pkt"), ('"run": 0', '"run": 1')):
        assert find in before
        manifest.write_text(before.replace(find, write), encoding="utf-8")
        assert "it was changed since it was written" in said_of(["why", str(folder)])
    manifest.write_text(before, encoding="utf-8")
    assert rl.open_run(folder).manifest.seed == 1


def test_an_error_of_writing_names_what_was_written(tmp_path: Path) -> None:
    """A draft next to the result is none of the user's paths."""

    def failing(number: int, *, named: bool) -> None:
        with output.whole_folder(tmp_path / "result") as draft:
            raise OSError(number, "it failed", *([str(draft / "chart.svg")] if named else []))

    for number in (errno.EROFS, errno.ENOSPC):
        for named in (False, True):
            with pytest.raises(OSError, match=re.escape(str(tmp_path / "result"))) as caught:
                failing(number, named=named)
            assert ".roamlab-" not in str(caught.value)
    assert "/proc/n.svg" in said_of(["draw", str(MOVES), "--out", "/proc/n.svg"])


def test_the_last_value_is_tried_whatever_the_step(tmp_path: Path) -> None:
    search = {"where": "flows.moving.goodput_bps > 1", "store": tmp_path, "budget": 64}
    base = rl.Scenario(CHANCE).set("flows.moving.app.start_within", "0 s")
    found = base.smallest("cells.bs1.queue.limit", between=("4 pkt", "64 pkt"), step=100, **search)
    assert set(found.tried["value"]) == {"4 pkt", "64 pkt"}
    assert found.alike
    assert "the confidence has no meaning" in repr(found)
    by_chance = rl.Scenario(CHANCE).smallest(
        "cells.bs1.queue.limit", between=("4 pkt", "64 pkt"), step=100, **search
    )
    assert not by_chance.alike


def test_a_change_repairs_what_is_wrong_in_the_file(tmp_path: Path) -> None:
    """And what it does not repair is reported with the line of the file."""
    (tmp_path / "lab.toml").write_text(TEXT.replace('home = "ha"', 'home = "hq"', 1), encoding="utf-8")
    file = str(tmp_path / "lab.toml")
    done = CliRunner().invoke(cli, ["check", file, "--set", "hosts.mh.home=ha"])
    assert done.exit_code == 0, done.output
    said = said_of(["check", file, "--set", "run.duration=5 s"])
    assert "lab.toml:62:" in said
    assert 'there is no node "hq"' in said
    said = said_of(["check", file, "--set", "hosts.mh.home=ha", "--set", "run.duration=5 x"])
    assert "field `run.duration`" in said


def test_a_row_that_a_change_removes(tmp_path: Path) -> None:
    made = rl.run(rl.load(MOVES).set("run.duration", "12 s"))
    folder, row = rl.Store(tmp_path).write(made), made.handovers.height - 1
    said = said_of(["why", "handovers", str(row), str(folder), "--set", "run.duration=5 s"])
    assert 'the run with run.duration = "5 s" has no such row' in said
    assert f"`roamlab why handovers {row} {folder}`" in said


def test_an_outage_that_no_packet_meets() -> None:
    def said_of_outage(begin: str, end: str) -> list[str]:
        changes = f'changes = [{{ at = "{begin}", up = false }}, {{ at = "{end}", up = true }}]'
        link = 'between = ["core", "r1"]'
        text = BUSY.replace(link, f"{link}\n{changes}", 1).replace('"20 s"', '"13 s"', 1)
        warnings = rl.Scenario(text, "lab.toml").run().warnings
        return [line for line in warnings if "the outage has no effect" in line]

    (said,) = said_of_outage("12 s", "12.5 s")
    assert "links[1].changes[0].up: no packet arrived over the link between core and r1" in said
    assert not said_of_outage("5 s", "6 s")


def test_a_condition_on_all_flows_is_answered_by_one_that_can_be_used() -> None:
    with pytest.raises(rl.BadInput) as caught:
        rl.Scenario(CHANCE).smallest(
            "cells.bs1.queue.limit", where="timeouts == 0", between=("4 pkt", "64 pkt"), step=10
        )
    assert 'write "flows.NAME.timeouts" with the name of a flow, or "mean(flows.*.timeouts)"' in str(
        caught.value
    )


def test_a_sweep_repairs_what_is_wrong_in_its_scenario(tmp_path: Path) -> None:
    file = _sweep_file(tmp_path, "replications = 1")
    wrong = CHANCE.replace('home = "ha"', 'home = "hq"', 1)
    (tmp_path / "lab.toml").write_text(wrong, encoding="utf-8")
    options = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    assert "lab.toml:62:" in said_of(["sweep", file, *options])
    done = CliRunner().invoke(cli, ["sweep", file, "--set", "hosts.mh.home=ha", *options])
    assert done.exit_code == 0, done.output
