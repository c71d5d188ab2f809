"""Logs of simulators and of public data sets, in the forms that their sources describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import roamlab as rl
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def converted(log: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["schedule", str(log), *words], standalone_mode=False)


VECTORS = """version 3
run General-0-20260501-10:00:00-1234
attr network Net
itervar n 1

vector 0 "Net.ue[0].cellularNic.nrPhy" servingCell:vector ETV
attr source servingCell
attr title "serving cell, vector"
vector 1 Net.ue[0].app[0] throughput:vector TV
vector 2 Net.ue[1].cellularNic.nrPhy servingCell:vector
# a comment
0\t12\t0\t1
1\t0.5\t1e6
2\t0\t3
0\t99\t3.5\t2
1\t1.5\t2.5e6
0\t120\t7\t0
2\t8\t4
"""
SERVING = ["--where", "name=servingCell:vector", "--column", "cell=cell", "--column", "host=module"]


def test_vectors_of_omnet_are_moves_and_rates(tmp_path: Path) -> None:
    """A vector without columns has times and values. Simu5G's cell 0 is none."""
    log = tmp_path / "run.vec"
    for written in (VECTORS, "﻿" + VECTORS, VECTORS.replace("\n", "\r\n"), VECTORS.replace("\t", " ")):
        log.write_text(written, newline="")
        done = converted(log, *SERVING)
        assert done.exception is None, done.exception
        assert done.stdout.splitlines()[1:] == [
            "3.5,Net.ue[0].cellularNic.nrPhy,1,2,",
            "7,Net.ue[0].cellularNic.nrPhy,2,,",
            "8,Net.ue[1].cellularNic.nrPhy,3,4,",
        ]
        named = ["--as", "rate", "--where", "name=throughput:vector", "--column", "rate_bit_s=value"]
        assert converted(log, *named).stdout == "time_s,rate_mbit_s\n0,1\n1,2.5\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (VECTORS.replace("2\t8\t4", "9\t8\t4"), "run.vec:18: no vector 9 is declared"),
        (VECTORS.replace("2\t8\t4", "2\t8"), "run.vec:18: vector 2 has 2 columns, and this line 1"),
        (VECTORS.replace("vector 1 N", "vector one N"), "run.vec:9: this declares no vector"),
        (VECTORS.replace(" TV\n", " EV\n"), "run.vec:9: the columns are 'EV'"),
        (VECTORS.replace("3.5", "soon"), "run.vec:15: time_s is 'soon'"),
        ("version 3\n", "it declares no vector"),
    ],
)
def test_a_fault_of_vectors_has_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "run.vec").write_text(text)
    done = converted(tmp_path / "run.vec", *SERVING)
    assert isinstance(done.exception, rl.BadInput)
    assert said in str(done.exception)


def test_ns3_writes_a_percent_sign_before_its_names(tmp_path: Path) -> None:
    log = tmp_path / "DlRsrpSinrStats.txt"
    log.write_text(
        "% time\tcellId\tIMSI\tRNTI\trsrp\tsinr\tComponentCarrierId\n"
        "0.1\t1\t7\t2\t1e-12\t40\t0\n0.2\t1\t7\t2\t1e-12\t40\t0\n0.3\t2\t7\t1\t1e-12\t40\t0\n"
    )
    named = [f"--column={each}" for each in ("time_s=time", "cell=cellId", "host=IMSI")]
    assert converted(log, *named).stdout.splitlines()[1:] == ["0.3,7,1,2,"]


G_NETTRACK = """Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,DL_bitrate,UL_bitrate,State
2019.12.14_10.16.30,-8.38,51.93,0,B,12,5G,5000,10,D
2019.12.14_10.16.30,-8.38,51.93,0,B,12,5G,7000,10,D
2019.12.14_10.16.31,-8.38,51.93,0,B,13,5G,9000,10,D
"""


def test_g_nettrack_has_its_own_form_of_times_and_several_records_a_second(tmp_path: Path) -> None:
    log = tmp_path / "drive.csv"
    log.write_text(G_NETTRACK)
    named = ["--as", "rate", "--column", "time=Timestamp", "--column", "rate_kbit_s=DL_bitrate"]
    assert "drive.csv:3: another record has this time" in str(converted(log, *named).exception)
    for rule, rate in (("first", "5"), ("last", "7"), ("mean", "6")):
        done = converted(log, *named, "--same-time", rule)
        assert done.stdout == f"time_s,rate_mbit_s\n0,{rate}\n1,9\n"
        assert "1 record of the same time left out" in done.stderr
    cells = ["--column", "time=Timestamp", "--column", "cell=CellID", "--host", "phone"]
    moves = converted(log, *cells, "--begin", "2019.12.14_10.16.30")
    assert moves.stdout.splitlines()[1:] == ["1,phone,12,13,"]


def test_lumos5g_has_a_number_for_each_second_of_a_run(tmp_path: Path) -> None:
    """Its positions are a trajectory, its throughput a rate, and its towers cells."""
    log = tmp_path / "Lumos5G-v1.0.csv"
    log.write_text(
        "run_num,seq_num,latitude,longitude,movingSpeed,nrStatus,Throughput,tower_id\n"
        "1,1,44.97,-93.26,0,CONNECTED,100,2\n1,2,44.971,-93.26,9,CONNECTED,250.5,2\n"
        "1,3,44.972,-93.26,9,NONE,30,5\n2,1,44.97,-93.26,0,CONNECTED,1,2\n"
    )
    run = ["--where", "run_num=1", "--column", "time_s=seq_num"]
    rates = converted(log, "--as", "rate", *run, "--column", "rate_mbit_s=Throughput")
    assert rates.stdout == "time_s,rate_mbit_s\n0,100\n1,250.5\n2,30\n"
    way = converted(log, "--as", "trajectory", *run).stdout
    assert way == 'trajectory = { waypoints_m = [[0.0, 0.0], [0.0, 222.26]], times = ["0 s", "2 s"] }\n'
    moves = converted(log, *run, "--column", "cell=tower_id", "--host", "phone", "--begin", "1")
    assert moves.stdout.splitlines()[1:] == ["2,phone,2,5,"]
