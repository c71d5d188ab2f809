"""The tables of a run as properties. Written by `python -m roamlab.records.tables`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class Frames:
    """A run's tables as Polars frames; `table` gives each."""

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        raise NotImplementedError

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow: its totals at the end of the run."""
        return self.table("flows")

    @property
    def links(self) -> pl.DataFrame:
        """One row per one-way link: its totals.

        Signalling with priority does not pass the queue.
        """
        return self.table("links")

    @property
    def census(self) -> pl.DataFrame:
        """Counts: events, hops, packets created, delivered, dropped by reason, inside; odd ECN fields after tunnels."""
        return self.table("census")

    @property
    def deliveries(self) -> pl.DataFrame:
        """One row per data segment that reached its endpoint.

        Recorded if `record.deliveries` is on, which is the default.
        """
        return self.table("deliveries")

    @property
    def queues(self) -> pl.DataFrame:
        """Samples of queues.

        Recorded for the queues in `record.queues`; by default for the downlinks of all cells and for links
        with their own `queue`.
        """
        return self.table("queue")

    @property
    def drops(self) -> pl.DataFrame:
        """One row per lost packet.

        Every loss has one reason; `copy-released`, `duplicate` and `suppressed-ack` lose no data.
        """
        return self.table("drops")

    @property
    def tcp(self) -> pl.DataFrame:
        """Events of each sender with a window (TCP, QUIC), with their causes.

        Recorded if `record.tcp` is on, which is the default.
        """
        return self.table("tcp")

    @property
    def variables(self) -> pl.DataFrame:
        """The variables of senders with a window (TCP, QUIC), a row for each change.

        Recorded if `record.variables` is on.
        """
        return self.table("variables")

    @property
    def tcp_info(self) -> pl.DataFrame:
        """Reports of Linux kernels on their senders (`TCP_INFO`), a row for each time that they are asked.

        Recorded if `record.variables` is on.
        """
        return self.table("tcp_info")

    @property
    def packets(self) -> pl.DataFrame:
        """Events of every packet.

        Recorded if `record.packets` is on.
        """
        return self.table("packets")

    @property
    def units(self) -> pl.DataFrame:
        """One row per unit of an application's data: a frame, an object of a page, a segment of a film.

        A unit is useful only when complete.
        """
        return self.table("units")

    @property
    def handovers(self) -> pl.DataFrame:
        """Phases of every handover."""
        return self.table("handovers")

    @property
    def path_changes(self) -> pl.DataFrame:
        """One row each time that a sender was notified of a new path, with what it made of that."""
        return self.table("path_changes")

    @property
    def releases(self) -> pl.DataFrame:
        """One row per packet that left a base station's buffer for a host."""
        return self.table("releases")

    @property
    def bearer_gaps(self) -> pl.DataFrame:
        """One row per wait of a numbered radio bearer's receiver for a packet, while it kept later ones."""
        return self.table("bearer_gaps")

    @property
    def policing(self) -> pl.DataFrame:
        """One row per policed mark of forwarded packets from outside."""
        return self.table("policing")

    @property
    def signalling(self) -> pl.DataFrame:
        """One row per signalling message.

        Messages have sizes, wait in queues and can be lost.
        """
        return self.table("signalling")

    @property
    def trace(self) -> pl.DataFrame:
        """The path of one packet, stop by stop.

        Recorded if the run traces a packet.
        """
        return self.table("trace")

    @property
    def causes(self) -> pl.DataFrame:
        """Causes: each row names the row that led to it, back to a root.

        `roamlab why` and `rl.why` print a chain.
        """
        return self.table("causes")
