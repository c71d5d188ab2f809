"""The tables of a run and what their columns mean: the one place where they are described.

Times are whole nanoseconds (`*_ns`), rates `*_bps`, sizes `*_bytes`, counts `*_pkts`.
`python -m roamlab.tables` prints this as Markdown, which is `docs/tables.md`.
"""

from __future__ import annotations

_FLOW = "name of the flow"
_SERIAL = "serial number of the packet, unique within the run"
_TIME = "when"

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
    "queue": (
        "Samples of every queue.",
        {
            "time_ns": _TIME,
            "queue": "name of the queue",
            "packets": "packets that wait; the one in service is not among them",
            "bytes": "bytes that wait",
            "average": "average length in packets that the discipline keeps (RED's avg_q, M-RED's avg_q_np), or 0",
            "probability": "probability of dropping the next ordinary packet (RED's p_b, BLUE's P_m), or 0",
            "forwarded": "waiting packets with the mark of forwarded ones (of M-RED and MBLUE theirs, elsewhere any code "
            "point but 0); packets - forwarded is M-RED's q_size_np",
        },
    ),
    "drops": (
        "One row per lost packet. Every loss has one reason; `copy-released` and `pdcp-duplicate` lose no data.",
        {
            "time_ns": _TIME,
            "place": "where it was lost",
            "reason": "why",
            "flow": _FLOW,
            "seq": "sequence number in segments",
            "serial": _SERIAL,
            "forwarded": "true: it carried the mark of a forwarded packet",
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
        },
    ),
    "packets": (
        "What happened to every packet; empty unless `record.packets` asks for it.",
        {
            "time_ns": _TIME,
            "event": "`send`: an endpoint sends it; `enqueue`: it is handed to a recorded queue; `drop`: it is lost",
            "place": "node or link",
            "flow": _FLOW,
            "kind": "`data`, `syn`, `ack`, `datagram` or `signal`",
            "number": "segment or datagram number; of an acknowledgement the segment expected next",
            "wire_bytes": "bytes on the wire, tunnel headers included",
            "retransmission": "true: the segment had been sent before",
            "waiting": "of `enqueue`: packets that waited before it; otherwise 0",
            "serial": _SERIAL,
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
    "census": (
        "What was counted: events, hops, packets created, delivered, dropped by reason, inside, odd behind tunnels.",
        {"name": "what", "value": "how many"},
    ),
}


def markdown() -> str:
    """The tables as a documentation page."""
    parts = ["# The tables of a run\n", "Written by `python -m roamlab.tables`.\n"]
    for table, (summary, columns) in TABLES.items():
        parts.append(f"## {table}\n\n{summary}\n\n| column | meaning |\n| --- | --- |")
        parts += [f"| `{column}` | {meaning} |" for column, meaning in columns.items()]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
