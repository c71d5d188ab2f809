"""TCP profiles as tables. The engine declares every parameter, its value and its meaning; nothing is listed here."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any, TypedDict

from roamlab import _roamlab
from roamlab.base.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping


class ProfileParameter(TypedDict):
    """A row of a profile."""

    parameter: str
    """Name of the field in a flow's `transport`, or in a table of `tcp_profiles`."""
    value: str
    unit: str
    """Unit of `value`; empty for a count, a truth value or a choice."""
    meaning: str
    """Its meaning, and its source: RFC section or ns-2 variable."""
    rule: bool
    """True for a rule, which a profile sets; false for a parameter of a flow."""
    toml: str
    """The value as TOML."""
    rfc: str
    """Value in the profile "rfc", with its unit."""
    differs: bool
    """The value is not that of "rfc"."""


def names(family: str = "tcp profiles") -> list[str]:
    """The names in a family of the engine's catalogue."""
    return [row["name"] for row in json.loads(_roamlab.catalogue())[family]]


def profile(name: str, variant: str | None = None) -> list[ProfileParameter]:
    """The parameters of a TCP profile for one variant; None: that of a flow which names none.

    Raises `BadInput` where there is no such name.
    """
    variant = variant or _roamlab.usual_variant(name) or "reno"
    for option, value, known in (
        ("profile", name, names()),
        ("variant", variant, names("tcp variants")),
    ):
        if value not in known:
            raise BadInput(
                f"{option} {value}",
                f"there is no such {option}",
                expected=f"one of: {', '.join(known)}",
                remedy="`roamlab list` explains each",
            )
    found = _roamlab.tcp_profile(name, variant)
    if found is None:
        raise AssertionError(f"the catalogue lists {name} and {variant}, which the engine does not know")
    parameters: list[ProfileParameter] = json.loads(found)
    return parameters


def as_toml(name: str, variant: str | None = None) -> str:
    """A TCP profile as TOML: its rules as a profile of a scenario, and the parameters of a flow that sets none.

    Raises `BadInput` where there is no such name.
    """
    rows = profile(name, variant)
    usual = variant or _roamlab.usual_variant(name)
    lines = [
        f'# The TCP profile "{name}" with the variant "{usual}". To change a rule, write this table in a scenario',
        "# with that rule alone, and its name as `profile` in `[run]` or in the `transport` of a flow.",
        "[tcp_profiles.own]",
        f'based_on = "{name}"',
    ]
    lines += [line for row in rows if row["rule"] for line in _lines(row)]
    lines += [
        "",
        "# The parameters of a flow that writes none of them. Some follow from `segment` and `window`.",
    ]
    lines += ["[flows.transport]", 'kind = "tcp"', f'variant = "{usual}"']
    lines += [line for row in rows if not row["rule"] for line in _lines(row)]
    return "\n".join(lines)


def _lines(row: ProfileParameter) -> list[str]:
    """A parameter as TOML, below its meaning."""
    other = f" (rfc: {row['rfc']})" if row["differs"] else ""
    comment = textwrap.wrap(row["meaning"] + other, 110, initial_indent="# ", subsequent_indent="# ")
    return [*comment, f"{row['parameter']} = {row['toml']}"]


def of_flow(parameters: Mapping[str, Any], transport: Mapping[str, Any]) -> Mapping[str, Any]:
    """The profile of a TCP flow as a table of `tcp_profiles`: `based_on`, and the rules that it changes.

    `parameters` is the scenario with every default, `transport` the table of the flow.
    """
    name: str = transport.get("profile") or parameters.get("run", {}).get("profile", "rfc")
    found: Mapping[str, Any] = parameters.get("tcp_profiles", {}).get(name, {"based_on": name})
    return found
