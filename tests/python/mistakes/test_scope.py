"""Names that Roamlab does not have are refused with the nearest substitute and the page that lists them."""

from __future__ import annotations

import pytest

import roamlab as rl
from conftest import ROOT

BASE = rl.load(ROOT / "examples/busy-cell.toml")


@pytest.mark.parametrize(
    ("field", "value", "nearest", "section"),
    [
        ("cells.bs2.queue", {"kind": "ared"}, "`red`", "queues"),
        ("cells.bs2.queue", {"kind": "sfq"}, "`fq-codel`", "queues"),
        ("flows.download.transport.variant", "bbr2", "`bbr3`", "transports"),
        ("flows.download.transport", {"kind": "http3"}, "`quic`", "transports"),
        ("mobility", {"kind": "pmipv6"}, "`hawaii`", "mobility-protocols"),
        ("mobility", {"kind": "Slicing"}, "`nr`", "mobility-protocols"),
        ("radio", {"kind": "wifi"}, "`802.11`", "radios-and-media"),
        ("cells.bs2.medium", {"kind": "csma"}, "`shared`", "radios-and-media"),
        ("flows.download.app", {"kind": "http"}, "`web`", "traffic"),
        ("links.0.loss", {"kind": "bernoulli"}, "`gilbert-elliott`", "loss-and-errors"),
        ("links.0.jitter", "1 ms", "`drops`", "loss-and-errors"),
    ],
)
def test_a_refusal_names_what_is_nearest(field: str, value: object, nearest: str, section: str) -> None:
    with pytest.raises(ValueError, match="the nearest is") as refused:
        BASE.set(field, value)
    assert f"the nearest is {nearest}: " in str(refused.value)
    assert f"(docs/scope.md#{section})" in str(refused.value)


def test_a_word_from_another_family_gets_no_substitute() -> None:
    with pytest.raises(ValueError, match='write one of "droptail"') as refused:
        BASE.set("cells.bs2.queue", {"kind": "cubic"})
    assert "nearest" not in str(refused.value)
