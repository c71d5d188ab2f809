"""Topologies in GraphML become links of a scenario."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pytest
import tomli
from click.testing import CliRunner

import roamlab as rl
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def made(log: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["schedule", str(log), "--as", "links", *words], standalone_mode=False)


def links(log: Path, *words: str) -> list[dict[str, Any]]:
    done = made(log, *words)
    assert done.exception is None, done.exception
    found: list[dict[str, Any]] = tomli.loads(done.stdout)["links"]
    return found


ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d38" />
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d35" />
  <key attr.name="LinkSpeedUnits" attr.type="string" for="edge" id="d37" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d29">48.0</data><data key="d32">16.0</data><data key="d33">New York, A&amp;B</data></node>
    <node id="1"><data key="d29">49.0</data><data key="d32">16.0</data><data key="d33">Graz</data></node>
    <node id="2"><data key="d29">49.0</data><data key="d32">16.0</data><data key="d33">Graz</data></node>
    <edge source="0" target="1"><data key="d38">10000000000.0</data></edge>
    <edge source="1" target="2"><data key="d35">2.5</data><data key="d37">G</data></edge>
    <edge source="2" target="1"><data key="d38">155000000.0</data></edge>
    <edge source="2" target="2"><data key="d38">155000000.0</data></edge>
  </graph>
</graphml>
"""


def test_a_topology_of_the_zoo_is_links(tmp_path: Path) -> None:
    """A degree of latitude is 6371.0088 km * pi / 180 = 111.195 km, and 555.975 us at 200 km in a ms."""
    log = tmp_path / "net.graphml"
    for written in (ZOO, "﻿" + ZOO, ZOO.replace("\n", "\r\n"), ZOO.replace("\n", "")):
        log.write_text(written, newline="")
        assert links(log) == [
            {"between": ["New-York-A-B", "Graz"], "rate": "10 Gbit/s", "delay": "0.555975 ms"},
            {"between": ["Graz", "Graz-2"], "rate": "2.5 Gbit/s", "delay": "0 ms"},
        ]
    assert round(6371.0088 * math.pi / 180 / 200 * 1e6) == 555975
    told = made(log).stderr
    assert "3 nodes, 2 links" in told
    assert "1 edge parallel to a faster or equal one left out" in told
    assert "1 edge from a node to itself left out" in told
    assert "3 delays of 3 edges from places" in told


NETWORKX = """<graphml><key id="d0" for="edge" attr.name="bandwidth" attr.type="double"/>
<key id="d1" for="edge" attr.name="latency" attr.type="double"><default>3</default></key>
<graph edgedefault="directed"><node id="a"/><node id="b"/><node id="c"/>
<edge source="a" target="b"><data key="d0">100</data><data key="d1">2.5</data></edge>
<edge source="b" target="a"><data key="d0">20</data><data key="d1">2.5</data></edge>
<edge source="c" target="b"/>
</graph></graphml>
"""
NAMED = ["--column", "rate_mbit_s=bandwidth", "--column", "delay_ms=latency"]


def test_a_directed_graph_has_both_directions(tmp_path: Path) -> None:
    log = tmp_path / "net.graphml"
    log.write_text(NETWORKX)
    assert links(log, *NAMED, "--rate", "1 Gbit/s") == [
        {"between": ["a", "b"], "rate": "100 Mbit/s", "delay": "2.5 ms", "reverse_rate": "20 Mbit/s"},
        {"between": ["c", "b"], "rate": "1 Gbit/s", "delay": "3 ms"},
    ]
    assert "1 edge without one in the other direction" in made(log, *NAMED, "--rate", "1 Gbit/s").stderr


def test_the_links_are_a_scenario(tmp_path: Path) -> None:
    log = tmp_path / "net.graphml"
    flow = (
        '[run]\nduration = "1 s"\n[[flows]]\nname = "call"\npath = ["{}", "{}"]\n'
        'app = {{ kind = "voip", codec = "g711" }}\n'
    )
    for text, words, ends in (
        (ZOO, [], ("New-York-A-B", "Graz-2")),
        (NETWORKX, [*NAMED, "--rate", "1 Mbit/s"], "ac"),
    ):
        log.write_text(text)
        (tmp_path / "net.toml").write_text(flow.format(*ends) + made(log, *words).stdout)
        assert rl.load(tmp_path / "net.toml").run().metric("flows.call.delivered_pkts") > 10


def test_parts_without_a_link_between_them_are_named(tmp_path: Path) -> None:
    log = tmp_path / "net.graphml"
    log.write_text(NETWORKX.replace('<node id="c"/>', '<node id="c"/><node id="far"/>'))
    assert "no link leads from the largest part to far" in made(log, *NAMED, "--rate", "1 Gbit/s").stderr


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (NETWORKX, [], "a.graphml:4: the edge between a and b has no rate (attributes: latency, bandwidth)"),
        (NETWORKX, ["--rate", "1 Gbit/s"], "a.graphml:4: the edge between a and b has no delay"),
        (NETWORKX, ["--rate", "fast"], "write a number and a unit"),
        (NETWORKX, ["--column", "speed=x"], "a topology is not made of such an attribute"),
        (NETWORKX, ["--where", "a=b"], "--where: it changes nothing of links"),
        (NETWORKX.replace('target="a"', 'target="z"'), NAMED, "a.graphml:5: <edge> has target='z'"),
        (NETWORKX.replace(">20<", ">much<"), NAMED, "a.graphml:5: bandwidth is 'much'"),
        (NETWORKX.replace(">20<", ">-20<"), NAMED, "a.graphml:5: bandwidth is '-20'"),
        (NETWORKX.replace('id="b"', 'id="a"'), NAMED, "a.graphml:3: the id 'a' is of two nodes"),
        (
            NETWORKX.replace('<data key="d0">20', '<data key="d9">20'),
            NAMED,
            "a.graphml:5: no <key> declares 'd9'",
        ),
        (
            NETWORKX.replace('<node id="b"/>', '<node id="b"><graph/></node>'),
            NAMED,
            "a.graphml:3: it has a second graph",
        ),
        (NETWORKX.replace("<edge source", "<hyperedge/><edge source"), NAMED, "a.graphml:4: <hyperedge>"),
        ('<?xml version="1.0" encoding="utZ-8"?><graphml/>', [], "a.graphml:1: its encoding cannot be read"),
        (NETWORKX[:150], NAMED, "this is no XML: unclosed token"),
        (NETWORKX.replace("graphml>", "svg>"), NAMED, "a.graphml:1: the first element is <svg>"),
        ("<!DOCTYPE a [<!ENTITY a 'b'>]>\n<graphml/>", [], "the file declares entities"),
        ("graph [\n node [ id 0 ] ]\n", [], "a.graphml:1: this is no XML: 'graph ['"),
        ("<graphml></graphml>", [], "it has no edge between two nodes"),
        (ZOO.replace("48.0", "148.0"), [], "a.graphml:10: Latitude is '148.0'"),
        (ZOO.replace("2.5", "fast"), [], "a.graphml:14: LinkSpeed is 'fast'"),
    ],
)
def test_a_fault_has_its_line(tmp_path: Path, text: str, words: list[str], said: str) -> None:
    (tmp_path / "a.graphml").write_text(text)
    done = made(tmp_path / "a.graphml", *words)
    assert done.exception is not None
    assert said in str(getattr(done.exception, "format_message", lambda: str(done.exception))())
    assert done.stdout == ""


def test_a_topology_is_drawn(tmp_path: Path) -> None:
    log = tmp_path / "net.graphml"
    for text, words in ((ZOO, []), (NETWORKX, [*NAMED, "--rate", "1 Gbit/s"])):
        log.write_text(text)
        figure = tmp_path / f"{len(words)}.svg"
        assert made(log, *words, "--figure", str(figure)).exception is None
        assert re.search(r"<svg", figure.read_text())
