"""The tables of a run and the meaning of their columns: the only place where they are described.

Times are whole nanoseconds (`*_ns`), rates `*_bps`, sizes `*_bytes`, counts `*_pkts`.
`python -m roamlab.records.tables` prints this as Markdown, which is `docs/tables.md`.
"""

from __future__ import annotations

_FLOW = "name of the flow"
_SERIAL = "serial number of the packet, unique within the run"
_TIME = "when"
_OWN = "its row in [causes](#causes)"

TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "flows": (
        "One row per flow: its totals at the end of the run.",
        {
            "flow": _FLOW,
            "source": "node that sends",
            "destination": "node that receives",
            "kind": "application and transport",
            "sent_pkts": "data packets sent, retransmissions included",
            "retransmitted_pkts": "data segments sent again",
            "delivered_pkts": "segments handed to the receiving application",
            "delivered_bytes": "bytes handed to the receiving application",
            "duplicate_pkts": "segments that arrived again",
            "reordered_pkts": "segments that arrived after a later one",
            "reordering_extent_pkts": "most later segments that had been seen before a late one",
            "dropped_pkts": "packets of the flow that were lost, for any reason",
            "timeouts": "expiries of the retransmission timer",
            "spurious_timeouts": "those with an earlier transmission of the segment that arrived",
            "fast_retransmits": "losses found by duplicate acknowledgements",
            "goodput_bps": "bits delivered per second, from the flow's start to the end of the run",
            "start_ns": "when the application began; -1: it did not",
            "finish_ns": "time of the last delivery; -1: none",
            "completed_ns": "when the last segment of a file was delivered for the first time; -1: it was not, "
            "or nothing ends the file",
        },
    ),
    "deliveries": (
        "One row per data segment that reached its endpoint.",
        {
            "time_ns": _TIME,
            "flow": _FLOW,
            "seq": "sequence number in segments",
            "bytes": "size of the datagram, its header included",
            "sent_ns": "when this copy was sent",
            "fresh": "false: this segment had arrived before",
            "late_by_pkts": "how many later segments had been seen before it; 0: in order",
            "serial": _SERIAL,
        },
    ),
    "units": (
        "One row per unit of an application's data, which is useful only when complete: a frame, an object of "
        "a page, a segment of a film.",
        {
            "time_ns": "when it was offered; of an object or a segment when it was requested",
            "flow": _FLOW,
            "kind": "I, P, B, object, segment",
            "group": "of a frame the I-frames so far; of an object its page, of a segment its quality, from 0",
            "number": "of a frame or segment its number in the flow, of an object that in its page, from 0",
            "bytes": "its size without headers",
            "packets": "the datagrams or segments that hold it",
            "first_seq": "number of its first datagram; of an object or a segment 0",
            "completed_ns": "when the last of it had been delivered; -1: never",
        },
    ),
    "queue": (
        "Samples of every queue.",
        {
            "time_ns": _TIME,
            "queue": "name of the queue",
            "packets": "waiting packets, without the one in transmission",
            "bytes": "waiting bytes",
            "average": "average length in packets that the discipline keeps (RED's avg_q, M-RED's avg_q_np), or 0",
            "probability": "probability of dropping the next ordinary packet (RED's p_b, BLUE's P_m), or 0",
            "forwarded": (
                "waiting packets with the mark of forwarded ones (M-RED and MBLUE: their own mark, other queues: "
                "any code point except 0); packets - forwarded is M-RED's q_size_np"
            ),
        },
    ),
    "drops": (
        "One row per lost packet. Every loss has one reason; `copy-released` and `duplicate` lose no data.",
        {
            "time_ns": _TIME,
            "place": "where it was lost",
            "reason": "why",
            "flow": _FLOW,
            "seq": "sequence number in segments",
            "sent_ns": "when it was sent; all copies of a packet have the same",
            "serial": _SERIAL,
            "forwarded": "true: it had the mark of a forwarded packet",
            "cause": _OWN + "; -1 for `copy-released`, which loses nothing",
        },
    ),
    "tcp": (
        "Events of each TCP sender, with their causes.",
        {
            "time_ns": _TIME,
            "flow": _FLOW,
            "event": "what happened",
            "cwnd": "congestion window after it, in segments",
            "ssthresh": "slow start threshold after it, in segments",
            "rto_ns": "retransmission timeout after it",
            "seq": "segment of the event",
            "cause_serial": "serial number of the lost packet that caused it; 0: none was lost",
            "timeout": "of a timeout, decided by the packets and not by the sender: `genuine` if every earlier "
            "transmission of the segment was lost, `spurious` if one arrived, then or later, `undecided` if "
            "one was still in flight at the end; otherwise empty",
            "cause": (
                "row of [causes](#causes) at which its chain begins: a timeout, a fast retransmit or another cut "
                "of the window has its own, a consequence has that of its cause; -1: the window opens"
            ),
        },
    ),
    "variables": (
        "The variables of TCP senders, a row for each change; empty unless `record.variables` is on.",
        {
            "time_ns": _TIME,
            "flow": _FLOW,
            "cwnd": "congestion window in segments, without the inflation by duplicate acknowledgements",
            "ssthresh": "slow start threshold in segments",
            "rtt_ns": "the latest measurement of the round-trip time; 0 before the first",
            "srtt_ns": "smoothed round-trip time; 0 before the first measurement",
            "rttvar_ns": "smoothed mean deviation of the round-trip time",
            "rto_ns": "retransmission timeout with its backoff",
            "backoff": "factor by which timeouts have increased it",
            "timeouts": "retransmission timeouts so far",
            "reductions": "cuts of the window so far",
            "una": "first segment that is not acknowledged",
        },
    ),
    "packets": (
        "Events of every packet; empty unless `record.packets` is on.",
        {
            "time_ns": _TIME,
            "event": "`send`: an endpoint sends it; `enqueue`: it arrives at a recorded queue; `mark`: it leaves one "
            "with the mark of congestion (ECN's CE); `drop`: it is lost",
            "place": "node or link",
            "flow": _FLOW,
            "kind": "`data`, `syn`, `ack`, `datagram` or `signal`",
            "number": "segment or datagram number; of an acknowledgement the segment expected next",
            "wire_bytes": "bytes on the wire, tunnel headers included",
            "retransmission": "true: the segment had been sent before",
            "waiting": "of `enqueue`: packets that waited before it; otherwise 0",
            "serial": _SERIAL,
            "cause": "of `drop`: its row in [causes](#causes); of a retransmission the loss, the timeout or the fast "
            "retransmit for which it is sent; otherwise -1",
        },
    ),
    "handovers": (
        "Phases of every handover.",
        {
            "time_ns": _TIME,
            "host": "mobile host",
            "visit": "index of the visit in the host's list, from 0",
            "phase": "name of the phase",
            "node": "where",
            "cause": _OWN,
        },
    ),
    "releases": (
        "One row per packet that left a base station's buffer for a host.",
        {
            "time_ns": _TIME,
            "host": "whose buffer",
            "node": "at which base station",
            "to": "the base station or router that it was forwarded to; empty: it went over the air",
            "flow": _FLOW,
            "seq": "segment or datagram number; 0 for an acknowledgement",
            "serial": _SERIAL,
            "size_bytes": "size on the wire, without the tunnel that begins here",
            "forwarded": "true: it was marked as forwarded",
            "cause": "row in [causes](#causes) of its release",
        },
    ),
    "signalling": (
        "One row per signalling message. Messages have sizes, wait in queues and can be lost.",
        {
            "id": "number of the message",
            "message": "its kind",
            "host": "its mobile host",
            "source": "node that sent it",
            "destination": "destination node",
            "size_bytes": "size on the wire",
            "sent_ns": "when it was sent",
            "arrived_ns": "when it arrived; -1: lost",
            "serial": _SERIAL,
            "cause": _OWN,
        },
    ),
    "policing": (
        "One row per policed mark of forwarded packets from outside.",
        {
            "time_ns": _TIME,
            "node": "access router or base station that policed it",
            "flow": _FLOW,
            "seq": "segment or datagram number; 0 for an acknowledgement",
            "serial": _SERIAL,
            "action": "cleared, or dropped with the packet",
        },
    ),
    "links": (
        "One row per one-way link: its totals. Signalling with priority does not pass the queue.",
        {
            "link": "name of the link",
            "offered_pkts": "packets that arrived at its queue",
            "forwarded_pkts": "of these, with the mark of forwarded packets: M-RED's priority packets",
            "busy_ns": "time of transmissions, signalling included; divided by the run's duration: its utilisation",
        },
    ),
    "trace": (
        "The path of one packet, stop by stop; empty unless a packet is traced.",
        {
            "time_ns": _TIME,
            "stop": "name of the stop",
            "place": "node, link or queue",
            "serial": _SERIAL,
            "wire_bytes": "bytes on the wire, tunnel headers included",
            "tunnels": "number of tunnel headers",
            "detail": "reason of the loss, or action of the queue",
        },
    ),
    "causes": (
        "Causes: each row names the row that led to it, back to a root. `roamlab why` and `rl.why` print a chain.",
        {
            "time_ns": _TIME,
            "kind": "one of the kinds below",
            "name": "name of the message or phase, reason of the loss, or kind of the release; otherwise empty",
            "place": "node or link, if it is at one",
            "host": "its mobile host; empty: none",
            "flow": "its flow; empty: none",
            "seq": "segment or datagram number, if it has one; otherwise 0",
            "serial": "serial number of its packet; 0: none",
            "cause": "number of the row, from 0, that led to it: always smaller, and not later; -1: it is a root",
        },
    ),
    "census": (
        "Counts: events, hops, packets created, delivered, dropped by reason, inside, with odd ECN fields "
        "after tunnels.",
        {"name": "what", "value": "how many"},
    ),
}

KINDS: dict[str, str] = {
    "start": "root: the run starts",
    "motion": "root: the plan of a host moves it",
    "measurement": "root: a moving host's measurement of its cells has changed",
    "out-of-range": "root: a host does not receive from its cell",
    "on-air": "root: a host of 802.11 receives a beacon of its cell, or has missed beacons or acknowledgements",
    "prediction": "root: the scenario predicts a handover",
    "link-change": "root: the scenario changes a link",
    "link-outage": "root: a packet begins to wait for a recorded link that delivers it no earlier than 100 ms later",
    "delayed-message": "root: a fault of the scenario delays a message",
    "underway": (
        "root: a segment or its acknowledgement is in flight, in queues and on links, for longer than the sender "
        "waits, or than later ones"
    ),
    "delayed-ack": "root: a receiver delays an acknowledgement",
    "congestion-mark": "root: a queue has marked congestion (ECN), and the sender cuts its window",
    "idle": "root: a sender had nothing to send for an RTO, and its window shrinks",
    "loss": (
        "a packet is lost; `name` is the reason. A root if the reason is in the network itself: `queue-overflow`, "
        "`forwarded-overflow`, `early-drop`, `forced-loss`, `no-route`, `ttl-expired`, `policed-mark`, "
        "`tunnel-congestion`, `frame-loss`, `retry-limit`, `no-endpoint`, `random-loss`. Otherwise its cause is "
        "the reason for which the host or link was absent, or for which the packet waited"
    ),
    "message": "an agent sends a message; its cause is the agent's input",
    "heard": "a host receives a broadcast of its cell; its cause is the host's entry of the cell",
    "timer": (
        "a timer of an agent expires; its cause is the input that set it (the first one, if it restarts itself), "
        "or the loss or delay of a message that was sent then, or of a consequence of it"
    ),
    "data": "a data packet makes an agent act; its cause is the change of the packet's route",
    "phase": "a phase of a handover; its cause is the agent's input, or the motion",
    "buffering": "a buffer begins to hold a host's packets",
    "release": "a buffer releases a host's packets",
    "timeout": (
        "a retransmission timer expires; its cause is the loss of the segment or of its acknowledgement or, if it "
        "was spurious, the delay of one of them"
    ),
    "fast-retransmit": (
        "acknowledgements made a sender infer a loss; its cause is that loss, or the delay of the segment"
    ),
}
"""The kinds of rows in `causes`."""


def markdown() -> str:
    """The tables as a documentation page."""
    parts = ["# The tables of a run\n", "Written by `python -m roamlab.records.tables`.\n"]
    for table, (summary, columns) in TABLES.items():
        parts.append(f"## {table}\n\n{summary}\n\n| column | meaning |\n| --- | --- |")
        parts += [f"| `{column}` | {meaning} |" for column, meaning in columns.items()]
        if table == "causes":
            parts.append("\n| kind | meaning |\n| --- | --- |")
            parts += [f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
