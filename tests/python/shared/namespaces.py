"""Tests that need separate namespaces: `roamlab shell` runs its programs in them."""

from __future__ import annotations

import pytest

from roamlab.base.errors import RoamlabError
from roamlab.shell import ends


def need_namespaces() -> None:
    """The test is skipped where this machine runs no program in namespaces."""
    try:
        with ends.End("mh") as end:
            end.make_card("11.0.0.1", "10.0.0.1", {})
    except (RoamlabError, OSError) as error:
        pytest.skip(str(error))
