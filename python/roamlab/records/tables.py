"""The tables of a run and what their columns mean: the one place where they are described.

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
            "spurious_timeouts": "those of which an earlier transmission of the segment arrived all the same",
            "fast_retransmits": "losses found by duplicate acknowledgements",
            "goodput_bps": "bits delivered per second, from the flow's start to the end of the run",
            "start_ns": "when the application began; -1: it did not",
            "finish_ns": "when data was delivered last; -1: none was",
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
        "One row per unit of an application's data, which is of use once all of it is there: a frame, an object of a "
        "page, a segment of a film.",
        {
            "time_ns": "when it was offered; of an object or a segment when it was asked for",
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
            "packets": "packets that wait; the one in service is not among them",
            "bytes": "bytes that wait",
            "average": "average length in packets that the discipline keeps (RED's avg_q, M-RED's avg_q_np), or 0",
            "probability": "probability of dropping the next ordinary packet (RED's p_b, BLUE's P_m), or 0",
            "forwarded": "waiting packets with the mark of forwarded ones (of M-RED and MBLUE theirs, elsewhere any "
            "code point but 0); packets - forwarded is M-RED's q_size_np",
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
            "forwarded": "true: it carried the mark of a forwarded packet",
            "cause": _OWN + "; -1 for `copy-released`, which loses nothing",
        },
    ),
    "tcp": (
        "What each TCP sender did and why.",
        {
            "time_ns": _TIME,
            "flow": _FLOW,
            "event": "what happened",
            "cwnd": "congestion window after it, in segments",
            "ssthresh": "slow start threshold after it, in segments",
            "rto_ns": "retransmission timeout after it",
            "seq": "segment that the event is about",
            "cause_serial": "serial number of the lost packet that caused it; 0: none was lost",
            "timeout": "of a timeout, judged by the packets and not by the sender: `genuine` if every earlier "
            "transmission of the segment was lost, `spurious` if one arrived, then or later, `undecided` if one "
            "was still on its way at the end; otherwise empty",
            "cause": "row of [causes](#causes) at which its chain begins: of a timeout, a fast retransmit or another "
            "cut of the window its own, of what follows from one that one; -1: the window opens",
        },
    ),
    "variables": (
        "The variables of TCP senders, a row for each change; empty unless `record.variables` asks for it.",
        {
            "time_ns": _TIME,
            "flow": _FLOW,
            "cwnd": "congestion window in segments, without what duplicate acknowledgements add",
            "ssthresh": "slow start threshold in segments",
            "rtt_ns": "the latest measurement of the round-trip time; 0 before the first",
            "srtt_ns": "smoothed round-trip time; 0 before the first measurement",
            "rttvar_ns": "smoothed mean deviation of the round-trip time",
            "rto_ns": "retransmission timeout with its backoff",
            "backoff": "factor on it by which timeouts have raised it",
            "timeouts": "retransmission timeouts so far",
            "reductions": "cuts of the window so far",
            "una": "first segment that is not acknowledged",
        },
    ),
    "packets": (
        "What happened to every packet; empty unless `record.packets` asks for it.",
        {
            "time_ns": _TIME,
            "event": "`send`: an endpoint sends it; `enqueue`: it is handed to a recorded queue; `mark`: it leaves one "
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
            "phase": "what was reached",
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
            "cause": "row in [causes](#causes) of the release that let it go",
        },
    ),
    "signalling": (
        "One row per signalling message: they have sizes, queue and can be lost.",
        {
            "id": "number of the message",
            "message": "its kind",
            "host": "mobile host that it is about",
            "source": "node that sent it",
            "destination": "node that it was for",
            "size_bytes": "size on the wire",
            "sent_ns": "when it was sent",
            "arrived_ns": "when it arrived; -1: lost",
            "serial": _SERIAL,
            "cause": _OWN,
        },
    ),
    "policing": (
        "One row per mark of forwarded packets that came from outside and was policed.",
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
        "One row per one-way link: its totals. Signalling with priority is not handed to the queue.",
        {
            "link": "name of the link",
            "offered_pkts": "packets handed to its queue",
            "forwarded_pkts": "of these, with the mark of forwarded packets: M-RED's priority packets",
            "busy_ns": "how long it sent, signalling included; over the run's duration: its utilisation",
        },
    ),
    "trace": (
        "The way of one packet, stop by stop; empty unless a packet was asked for.",
        {
            "time_ns": _TIME,
            "stop": "which stop on the way",
            "place": "node, link or queue",
            "serial": _SERIAL,
            "wire_bytes": "bytes on the wire, tunnel headers included",
            "tunnels": "tunnel headers that it wears",
            "detail": "why it was lost, or what the queue did",
        },
    ),
    "causes": (
        "What led to what: each row names the row that led to it, up to a root. `roamlab why` and `rl.why` walk "
        "a chain.",
        {
            "time_ns": _TIME,
            "kind": "what it is: one of the kinds below",
            "name": "which message, phase, reason of a loss, or what kind of release; empty if the kind says all",
            "place": "node or link, if it is at one",
            "host": "mobile host that it is about; empty: none",
            "flow": "flow that it is about; empty: none",
            "seq": "segment or datagram number, if it is about one; otherwise 0",
            "serial": "serial number of the packet that it is about; 0: none",
            "cause": "number of the row, from 0, that led to it: always a smaller one, and not later; -1: it is a root",
        },
    ),
    "census": (
        "What was counted: events, hops, packets created, delivered, dropped by reason, inside, odd behind tunnels.",
        {"name": "what", "value": "how many"},
    ),
}

KINDS: dict[str, str] = {
    "start": "root: the run starts",
    "motion": "root: the plan of a host moves it",
    "measurement": "root: what a host measures of its cells has changed, since it moves",
    "out-of-range": "root: a host cannot hear the cell that it is in",
    "on-air": "root: a host of 802.11 hears a beacon, or has heard none, or no acknowledgement, from its cell",
    "prediction": "root: the scenario predicts a handover",
    "link-change": "root: the scenario changes a link",
    "link-outage": "root: a packet begins to wait for a recorded link that delivers it no earlier than 100 ms later",
    "delayed-message": "root: a fault of the scenario holds a message back",
    "underway": "root: a segment or its acknowledgement is on its way, in queues and on links, for longer than the "
    "sender waits, or than those sent after it",
    "delayed-ack": "root: a receiver holds an acknowledgement back",
    "congestion-mark": "root: a queue has marked congestion (ECN), and the sender cuts its window",
    "idle": "root: a sender had nothing to send for an RTO, and its window shrinks",
    "loss": "a packet is lost; `name` is the reason. A root if the reason is in the network itself: `queue-overflow`, "
    "`forwarded-overflow`, `early-drop`, `forced-loss`, `no-route`, `ttl-expired`, `policed-mark`, "
    "`tunnel-congestion`, `frame-loss`, `retry-limit`, `no-endpoint`, `random-loss`. Otherwise it leads "
    "to why the host or link was gone, or why the packet waited",
    "message": "an agent sends a message; it leads to what the agent was told",
    "heard": "a host hears what its cell tells everyone; it leads to the host's entry of the cell",
    "timer": "a timer of an agent goes off; it leads to what set it (if it sets itself again, to what set it first), "
    "or to the loss or delay of a message that was sent then, or of one that this led to",
    "data": "a data packet makes an agent act; it leads to what set or removed the packet's route",
    "phase": "a phase of a handover; it leads to what the agent was told, or to the motion",
    "buffering": "a buffer begins to hold a host's packets",
    "release": "a buffer lets a host's packets go",
    "timeout": "a retransmission timer goes off; it leads to the loss of the segment or of its acknowledgement or, "
    "if it was spurious, to what held one of them up",
    "fast-retransmit": "acknowledgements made a sender infer a loss; it leads to that loss, or to what delayed "
    "the segment",
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
