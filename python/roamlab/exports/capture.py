"""Packets at nodes and on links of a run, with the bytes of their headers.

No run keeps them. The run is made again from its manifest with a capture at the requested places, which does
not change the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.base.screen import say
from roamlab.records.manifest import build_of
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from roamlab.records.results import Results

AIR = "/air"
"""Suffix of the name of a downlink behind that of its base station."""
SENT, CAME, LOST, HANDED = "link.tx_done", "link.arrive", "drop", "link.enqueue"
"""The stops that are captured: on the wire, out of the link, lost, handed to the link."""


@dataclass(frozen=True)
class Network:
    """The names of a run's nodes and one-way links."""

    links: list[str]
    nodes: set[str]
    hosts: list[str]

    @classmethod
    def of(cls, results: Results) -> Network:
        """That of a run."""
        network = results.manifest.network
        hosts = [host["name"] for host in network.get("hosts", [])]
        wired = {end for link in network.get("links", []) for end in link["between"]}
        links = results.links["link"].cast(pl.String).to_list()
        return cls(links, wired | set(network.get("cells", {})) | set(hosts), hosts)

    def source(self, link: str) -> str:
        """The node where a link begins."""
        return link.removesuffix(AIR) if link.endswith(AIR) else link.split(">")[0].removesuffix("-")

    def ends_at(self, link: str, node: str) -> bool:
        """True if a link ends at a node; a downlink ends at every host."""
        return node in self.hosts if link.endswith(AIR) else link.split(">")[-1] == node

    def queues(self, link: str) -> list[str]:
        """The names under which packets of a link are lost: of a downlink those of hosts' queues too."""
        return [link, *(f"{link}/{host}" for host in self.hosts)] if link.endswith(AIR) else [link]

    def check(self, option: str, names: Iterable[str], known: Iterable[str]) -> None:
        """Refuse a name that the network does not have."""
        known = sorted(known)
        for name in names:
            if name not in known:
                near = self._downlink(name, known) or get_close_matches(name, known, 1)
                raise BadInput(
                    f"{option} {name}",
                    "the run's network has none of this name",
                    expected=f"one of {', '.join(known[:20])}{' ...' if len(known) > 20 else ''}",
                    remedy=f"write {option} '{near[0] if near else known[0]}', for example",
                )

    def _downlink(self, name: str, known: Container[str]) -> list[str]:
        """The link that goes from a base station to its hosts, if that is the meaning of a name."""
        source, arrow, end = name.partition("->")
        downlink = f"{source}{AIR}"
        return [downlink] if arrow and end in self.hosts and downlink in known else []


@dataclass(frozen=True)
class Captured:
    """The run with its captured packets."""

    results: Results
    network: Network

    @cached_property
    def frames(self) -> pl.DataFrame:
        """One row per packet and stop, in the order in which they happened."""
        words = ("stop", "place", "flow", "kind", "source", "destination", "next", "reason")
        return self.results.table("frames").with_columns(pl.col(*words).cast(pl.String))

    @property
    def content(self) -> bytes:
        """The bytes of all packets, one behind the other; column `end` has the end of each."""
        assert self.results.engine is not None
        content: Any = self.results.engine["frame_bytes"]["byte"]
        return bytes(content)

    @cached_property
    def received(self) -> NDArray[np.bool_]:
        """Of each row: that it is no packet which comes out of a link only to be lost there."""
        frames = self.frames.select("time_ns", "stop", "place", "serial")
        lost = frames.filter(pl.col("stop") == LOST).select("time_ns", "place", "serial", gone=True)
        joined = frames.join(lost, on=["time_ns", "place", "serial"], how="left", maintain_order="left")
        unheard = (joined["stop"] == CAME) & joined["gone"].fill_null(value=False)
        return ~unheard.to_numpy()


def capture(results: Results, places: Sequence[str] | None, network: Network) -> Captured:
    """Make the run again and capture the packets on these links and nodes; None: on all."""
    made = results.manifest
    if made.build_hash != build_of(made.parameters_text):
        say("note: another build of the engine made this run; these are the present one's packets", err=True)
    if places is None:
        places = [queue for link in network.links for queue in network.queues(link)] + sorted(network.nodes)
    again = simulate(
        Scenario(made.scenario_text, made.scenario_name), made.seed, made.run, capture=list(places)
    )
    if (
        made.build_hash == again.manifest.build_hash
        and made.parameters_text != again.manifest.parameters_text
    ):
        raise BadInput(
            made.scenario_name,
            "a file that the scenario names has changed since the run was made",
            expected="the same content, by its digest",
            remedy="restore the file, or run the scenario again",
        )
    return Captured(again, network)
