"""A case as a Tcl script for ns-2, and what its run did.

ACK-clocked packets arrive at a bottleneck at the spacing in which they left it, so that one arrives exactly
when another leaves. Our clock is an integer, and what was put first among simultaneous events happens first.
The clock of ns-2 is a double, and its rounding errors decide. Here one of our nanoseconds is therefore 2^-30
s to ns-2: every time, delay, transmission time and timer is a multiple of that, its double is exact, and
insertion decides there too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import variables
from case import SECOND, UNIT, rate_of_ns2
from events import Event

if TYPE_CHECKING:
    from case import Case, Red
    from events import Events

GOLDEN = Path(__file__).parents[2] / "golden/ns2"
_TICK = {"ns235": 10_000_000, "ns21b": 100_000_000}
# The times among the defaults, in nanoseconds.
_TIMES = {
    "ns235": {"minrto_": 200_000_000, "maxrto_": 60 * SECOND, "rtxcur_init_": 3 * SECOND},
    "ns21b": {"minrto_": 0, "maxrto_": 100_000 * SECOND, "rtxcur_init_": 6 * SECOND},
}
_NAMES = {
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "fack": "FACK",
    "vegas": "Vegas",
}
_HEAD = """\
source {common}
apply_preset {preset}
{times}
DelayLink set avoidReordering_ true
set ns [new Simulator]
set trace [open {trace} w]
$ns trace-all $trace
set r1 [$ns node]; set r2 [$ns node]
$ns simplex-link $r1 $r2 {rate} {delay} {discipline}
$ns simplex-link $r2 $r1 {back_rate} {back_delay} DropTail
$ns queue-limit $r1 $r2 {queue}
$ns queue-limit $r2 $r1 100000
proc lose_some {{a b ordinals}} {{
    global ns
    set em [new ErrorModel/List]; $em unit pkt
    eval $em droplist $ordinals
    $ns lossmodel $em $a $b
}}
proc hold_some {{a b ordinals delay}} {{
    global ns
    set em [new ErrorModel/List]; $em unit pkt
    $em set delay_pkt_ true; $em set delay_ $delay
    eval $em droplist $ordinals
    $ns lossmodel $em $a $b
}}
proc lose_all {{a b from to}} {{
    global ns
    set em [new ErrorModel]; $em unit pkt; $em set rate_ 1.0; $em set enable_ 0
    # Without a number of its own it would take those that RED draws.
    set zero [new RandomVariable/Constant]; $zero set val_ 0; $em ranvar $zero
    $ns link-lossmodel $em $a $b
    $ns at $from "$em set enable_ 1"
    $ns at $to "$em set enable_ 0"
}}
"""
_FLOW = """\
set s [$ns node]; set d [$ns node]
$ns duplex-link $s $r{first} {rate} {to_r1} DropTail
$ns duplex-link $r{last} $d {rate} {from_r2} DropTail
foreach {{a b}} [list $s $r{first} $r{first} $s $r{last} $d $d $r{last}] {{ $ns queue-limit $a $b 100000 }}
set tcp [new [tcp_class {variant}]]
set sink [new {sink}]
$tcp set packetSize_ {segment}; $tcp set window_ {window}; $tcp set fid_ {index}; $tcp set ecn_ {ecn}
$ns attach-agent $s $tcp; $ns attach-agent $d $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
$ns at {start} "$ftp {begin}"
"""
_SECOND = """\
set r3 [$ns node]
$ns duplex-link $r2 $r3 {rate} {delay} DropTail
$ns queue-limit $r2 $r3 {queue}
$ns queue-limit $r3 $r2 100000
"""
_TAIL = """\
proc finish {{}} {{ global trace; close $trace; exit 0 }}
$ns at {end} finish
Simulator instproc node_order {{}} {{ $self instvar Node_; return [array names Node_] }}
puts "nodes [$ns node_order]"
$ns run
"""


def installed() -> bool:
    """True if there is an ns-2 to run."""
    return shutil.which("ns") is not None


def _seconds(nanoseconds: int) -> str:
    return repr(nanoseconds * UNIT)


def _times(case: Case) -> str:
    times = {"tcpTick_": _TICK[case.preset], **_TIMES[case.preset]}
    lines = [f"Agent/TCP set {name} {_seconds(time)}" for name, time in times.items()]
    lines += [f"Agent/TCPSink{sack}/DelAck set interval_ {_seconds(100_000_000)}" for sack in ("", "/Sack1")]
    for name, value in case.variables.items():
        lines += variables.tcl(name, value, UNIT)
    return "\n".join(lines)


def _rate(case: Case, rate: int) -> str:
    return repr(rate_of_ns2(rate, case.sizes()))


def _red(red: Red) -> str:
    of_red = {
        "thresh_": red.thresh,
        "maxthresh_": red.maxthresh,
        "q_weight_": red.q_weight,
        "linterm_": red.linterm,
        "mean_pktsize_": red.mean_packet,
        "gentle_": int(red.gentle),
        "wait_": int(red.wait),
        "bytes_": int(red.bytes),
        "queue_in_bytes_": int(red.queue_in_bytes),
        "use_mark_p_": int(red.use_mark_p),
        "mark_p_": red.mark_p,
        "setbit_": int(red.setbit),
        "targetdelay_": _seconds(5_000_000),
    }
    lines = [f"$red set {name} {value}" for name, value in of_red.items()]
    return "\n".join(["set red [[$ns link $r1 $r2] queue]", *lines, ""])


def script(case: Case, trace: Path) -> str:
    """The case in Tcl."""
    text = _HEAD.format(
        common=GOLDEN / "tcl/common.tcl",
        preset=case.preset,
        times=_times(case),
        trace=trace,
        rate=_rate(case, case.rate),
        delay=_seconds(case.delay),
        back_rate=_rate(case, case.back[0] if case.back else case.rate),
        back_delay=_seconds(case.back[1] if case.back else case.delay),
        discipline="RED" if case.red else "DropTail",
        queue=case.queue,
    )
    if case.red:
        text += _red(case.red)
    for ends, ordinals in (("$r1 $r2", case.losses), ("$r2 $r1", case.ack_losses)):
        if ordinals:
            text += f"lose_some {ends} {{{' '.join(map(str, ordinals))}}}\n"
    for ends, late in (("$r1 $r2", case.late), ("$r2 $r1", case.late_acks)):
        if late:
            ordinals, [delay] = late
            text += f"hold_some {ends} {{{' '.join(map(str, ordinals))}}} {_seconds(delay)}\n"
    if case.second:
        hop = case.second
        text += _SECOND.format(rate=_rate(case, hop.rate), delay=_seconds(hop.delay), queue=hop.queue)
    if case.outage:
        begin, length = case.outage
        for ends in ("$r1 $r2", "$r2 $r1"):
            text += f"lose_all {ends} {_seconds(begin)} {_seconds(begin + length)}\n"
    if case.change:
        at, rate, delay = case.change
        for ends in ("$r1 $r2", "$r2 $r1"):
            text += f"set link [[$ns link {ends}] link]\n"
            change = f"$link set bandwidth_ {_rate(case, rate)}; $link set delay_ {_seconds(delay)}"
            text += f'$ns at {_seconds(at)} "{change}"\n'
    for index, flow in enumerate(case.flows):
        sack = "/Sack1" if flow.variant in ("sack", "fack") else ""
        text += _FLOW.format(
            rate=_rate(case, case.access_rate),
            first=flow.enters + 1,
            last=flow.leaves + 1,
            to_r1=_seconds(flow.to_r1),
            from_r2=_seconds(flow.from_r2),
            variant=_NAMES[flow.variant],
            sink=f"Agent/TCPSink{sack}{'/DelAck' if case.delayed_ack else ''}",
            segment=case.segment,
            window=case.window,
            index=index,
            ecn=int(case.ecn),
            start=_seconds(flow.start),
            begin="start" if flow.packets is None else f"produce {flow.packets}",
        )
        for name, value in zip(("v_alpha_", "v_beta_", "v_gamma_"), flow.thresholds or [], strict=False):
            text += f"$tcp set {name} {value}\n"
        if flow.stop is not None:
            text += f'$ns at {_seconds(flow.stop)} "$ftp stop"\n'
    return text + _TAIL.format(end=_seconds(case.duration))


@cache
def _uniforms() -> list[float]:
    lines = (GOLDEN / "default_rng_seed1_first1000.csv").read_text(encoding="utf-8").splitlines()
    return [float(line.split(",")[1]) for line in lines[1:]]


def _phases(case: Case, nodes: list[int]) -> list[int]:
    """`boot_time_` of each sender: drawn when it is made (Vegas: twice), and again by node when the run begins."""
    made = sum(2 if flow.variant == "vegas" else 1 for flow in case.flows)
    routers = case.routers()
    senders = [(node - routers) // 2 for node in nodes if node >= routers and (node - routers) % 2 == 0]
    draw = {flow: _uniforms()[made + place] for place, flow in enumerate(senders)}
    tick = case.variables.get("tcpTick_", _TICK[case.preset])
    return [round(draw[flow] * tick) for flow in range(len(case.flows))]


def run(case: Case) -> tuple[list[int], Events]:
    """Runs ns-2: the phases of the senders' clocks in nanoseconds, and what happened."""
    with tempfile.TemporaryDirectory() as folder:
        trace, tcl = Path(folder) / "trace", Path(folder) / "case.tcl"
        tcl.write_text(script(case, trace), encoding="utf-8")
        done = subprocess.run(["ns", str(tcl)], capture_output=True, text=True, check=True, timeout=120)
        nodes = re.search(r"^nodes (.*)$", done.stdout, re.MULTILINE)
        assert nodes, done.stdout
        return _phases(case, [int(node) for node in nodes[1].split()]), _parse(trace, case.routers())


def _parse(trace: Path, routers: int) -> Events:
    events: Events = []
    inner = [str(node) for node in range(routers)]
    sent: set[tuple[int, int]] = set()
    waiting, enqueued = 0, ""
    for line in trace.read_text(encoding="utf-8").splitlines():
        what, at, start, end, kind, size, _, fid, _, _, seq, uid = line.split()
        time, flow, number = float(at) / UNIT / 1000, int(fid), int(seq)
        at_bottleneck = (start, end) == ("0", "1")
        if what == "+" and kind == "tcp" and start not in inner:
            events.append(Event("S", time, flow, number, str(int((flow, number) in sent))))
            sent.add((flow, number))
        elif what == "+" and kind == "ack" and start not in inner:
            events.append(Event("K", time, flow, number, size))
        elif what == "+" and at_bottleneck:
            if kind == "tcp":
                events.append(Event("Q", time, flow, number, str(waiting)))
            waiting, enqueued = waiting + 1, uid
        elif what == "-" and at_bottleneck:
            waiting, enqueued = waiting - 1, "" if uid == enqueued else enqueued
        elif what == "d":
            by_queue = at_bottleneck and uid == enqueued
            waiting -= by_queue
            behind = routers == 3 and (start, end) == ("1", "2")
            detail = ("q" if by_queue or behind else "l") + ("a" if kind == "ack" else "")
            events.append(Event("D", time, flow, number, detail))
    return events
