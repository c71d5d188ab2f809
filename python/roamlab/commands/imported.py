"""Parts of scenarios that `roamlab schedule` makes from movement, topologies and orbits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab.base.screen import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import ModuleType


def print_trajectory(
    log: Path, columns: dict[str, str], only: dict[str, str], options: Mapping[str, Any]
) -> None:
    """Print the trajectory of a host, from a log of positions."""
    from roamlab.imports import movement
    from roamlab.imports.tracks import read
    from roamlab.traces.logs import number

    begin, end = (
        None if options[each] is None else float(number(f"--{each}", options[each]))
        for each in ("begin", "end")
    )
    track = read(log, options["host"], columns, only, origin=options["origin"], geo=options["geo"])
    way = movement.trajectory(track.between(log, begin, end), options["tolerance_m"])
    _write_figure(options["figure"], lambda drawings: drawings.of_trajectory(way, log.name))
    say(way.toml())
    for said in way.summary():
        say(said, err=True)


def print_links(log: Path, columns: dict[str, str], options: Mapping[str, Any]) -> None:
    """Print the links of a topology."""
    from roamlab.imports import graphml

    topology = graphml.read(log, columns, options["rate"], options["delay"])
    _write_figure(options["figure"], lambda drawings: drawings.of_topology(topology, log.name))
    for table in topology.toml():
        say(table)
    for said in topology.summary():
        say(said, err=True)


def _write_figure(figure: Path | None, draw: Callable[[ModuleType], str]) -> None:
    if figure:
        from roamlab.base.output import write_chart
        from roamlab.imports import drawings

        write_chart(figure, draw(drawings))
