"""A twin as a scenario in TOML."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import tomli

from roamlab.captures.twin import AMPLE
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from roamlab.captures.twin import Setting

START_S = 2.0
"""When the flow starts: the receiver is registered by then. Agents advertise themselves each second."""
LEAST_WIDE_BPS = 1_000_000_000
"""The rate of links that are no bottleneck, at least."""


def scenario(setting: Setting, notes: dict[str, str] | None = None) -> Scenario:
    """A twin as a scenario; `notes`: comments behind its fields, by their names."""
    return Scenario(_Writer(setting, notes or {}).text(), "twin.toml")


@cache
def _protocol(name: str) -> str:
    """The fields of a protocol of protocols.toml."""
    text = Path(__file__).with_name("protocols.toml").read_text(encoding="utf-8")
    return "\n".join(f"{field} = {json.dumps(value)}" for field, value in tomli.loads(text)[name].items())


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e6)} us"


@dataclass(frozen=True)
class _Writer:
    setting: Setting
    notes: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        setting = self.setting
        # A file is given the time to end.
        length = setting.length_s if setting.size is None else 1.5 * setting.length_s + 5.0
        return f'''[run]
duration = "{_time(self.origin + length)}"{self.note("length")}
profile = "{setting.profile}"{self.note("sender")}

[network]
queue = {{ kind = "droptail", limit = "{AMPLE} pkt" }}

{self.links()}
{chr(10).join(self.cell(name) for name in self.cells)}
[mobility]
{self.mobility()}{self.note("buffer")}

[[hosts]]
name = "receiver"
home = "access"{self.note("gaps")}
visits = [
    {f",{chr(10)}    ".join(self.visits())},
]

[[flows]]
name = "flow"
path = ["sender", "receiver"]
transport = {self.transport()}{self.note("transport")}
app = {self.app()}{self.note("app")}

[record]
deliveries = true
'''

    def note(self, name: str) -> str:
        return f"  # {self.notes[name]}" if name in self.notes else ""

    @property
    def origin(self) -> float:
        """The first sending of data."""
        return START_S + self.setting.base_s

    @property
    def gaps(self) -> list[tuple[float, float]]:
        return [(self.origin + start, self.origin + end) for start, end in self.setting.gaps]

    @property
    def is_cut(self) -> bool:
        """Gaps are in front of the queue."""
        return self.setting.place == "wire" and not self.setting.held

    @property
    def cells(self) -> list[str]:
        is_switched = self.setting.place == "next" and not self.setting.held and bool(self.setting.gaps)
        return ["cell", "next"] if is_switched else ["cell"]

    @property
    def wide(self) -> str:
        return f"{max(10 * round(self.setting.rate_bps), LEAST_WIDE_BPS)} bit/s"

    @property
    def queue(self) -> str:
        setting = self.setting
        return (
            f'queue = {{ kind = "{setting.discipline}", limit = "{setting.queue} pkt" }}{self.note("queue")}'
        )

    def visits(self) -> list[str]:
        made, entered = [], 0.0
        gaps = [] if self.is_cut else self.gaps
        for number, (start, end) in enumerate(gaps):
            cell = self.cells[number % len(self.cells)]
            made.append(f'{{ cell = "{cell}", at = "{_time(entered)}", until = "{_time(start)}" }}')
            entered = end
        last = self.cells[len(gaps) % len(self.cells)]
        return [*made, f'{{ cell = "{last}", at = "{_time(entered)}" }}']

    def links(self) -> str:
        setting = self.setting
        ahead = setting.base_s * setting.split
        text = f'''[[links]]
between = ["sender", "{"edge" if setting.rates else "access"}"]
rate = "{self.wide}"
delay = "{_time(ahead)}"{self.note("delay")}
reverse_delay = "{_time(setting.base_s - ahead)}"
'''
        if setting.drops:
            text += f'drops = [{{ flow = "flow", packets = {list(setting.drops)} }}]{self.note("losses")}\n'
        if setting.loss:
            text += f"loss = {setting.loss:.6f}{self.note('losses')}\nreverse_loss = 0\n"
        if changes := self.changes(ahead):
            text += f"changes = [\n    {changes},\n]\n"
        if not setting.rates:
            return text
        rates = ",\n    ".join(
            f'{{ at = "{_time(self.origin + at)}", rate = "{round(share * setting.rate_bps)} bit/s" }}'
            for at, share in setting.rates
        )
        return f'''{text}
[[links]]
between = ["edge", "access"]
rate = "{round(setting.rate_bps)} bit/s"{self.note("rate")}
delay = "1 us"
{self.queue}
changes = [
    {rates},
]
'''

    def changes(self, ahead: float) -> str:
        """Those of the link to the sender: its delays, and when it is down."""
        setting = self.setting
        made = [
            (
                self.origin + at,
                f'delay = "{_time(ahead + more)}", reverse_delay = "{_time(setting.base_s - ahead + back)}"',
            )
            for at, more, back in setting.longer
        ]
        for start, end in self.gaps if self.is_cut else ():
            made += [(start, "up = false"), (end, "up = true")]
        return ",\n    ".join(f'{{ at = "{_time(at)}", {what} }}' for at, what in sorted(made))

    def cell(self, name: str) -> str:
        """A cell; with a rate that changes the link in front of it is the bottleneck."""
        setting = self.setting
        rate, queue = f"{round(setting.rate_bps)} bit/s", self.queue
        if setting.rates:
            rate, queue = self.wide, f'queue = {{ kind = "droptail", limit = "{AMPLE} pkt" }}'
        return f'''[cells.{name}]
router = "access"
rate = "{rate}"{"" if setting.rates else self.note("rate")}
delay = "1 us"
{queue}
backhaul = {{ rate = "{self.wide}", delay = "1 us" }}
'''

    def mobility(self) -> str:
        """A protocol by which the receiver is reached as soon as it is in a cell."""
        if len(self.cells) > 1:
            return _protocol("two-cells")
        buffer = '{ at = "none" }'
        if self.setting.held:
            buffer = (
                f'{{ at = "base-station", limit = "{self.setting.buffer} pkt", hold = "10 min", '
                "mark_forwarded = false, detour = false }"
            )
        return f"{_protocol('one-cell')}\nbuffer = {buffer}"

    def transport(self) -> str:
        setting = self.setting
        words = f'kind = "tcp", variant = "{setting.variant}", segment = "{setting.segment} B"'
        if setting.window is not None:
            words += f', window = "{setting.window} pkt"'
        if setting.first_window is not None:
            words += f', initial_window = "{setting.first_window} pkt"'
        if setting.min_rto is not None:
            words += f', min_rto = "{setting.min_rto}"'
        return f"{{ {words} }}"

    def app(self) -> str:
        setting = self.setting
        start = f'start = "{_time(START_S)}"'
        if setting.bursts is not None:
            # A larger burst is several packets.
            size, period = setting.bursts
            packet = min(size, 65_535)
            rate = round(size * 8 / period)
            return f'{{ kind = "cbr", rate = "{rate} bit/s", packet = "{packet} B", {start} }}'
        words = f', size = "{setting.size} B"' if setting.size is not None else ""
        return f'{{ kind = "ftp", {start}{words} }}'
