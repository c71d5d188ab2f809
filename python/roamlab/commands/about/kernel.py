"""`roamlab kernel`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say
from roamlab.commands.options import JSON

if TYPE_CHECKING:
    from collections.abc import Callable


@click.group("kernel")
def command() -> None:
    """Build Linux as an end of flows, or show which kernels are built.

    A flow with `transport = { kind = "linux" }` has ends of a real Linux kernel in simulated time. The kernel
    is a separate program, built from the distribution's source package. It is never a part of Roamlab.
    """


@command.command("build")
@click.option("--version", metavar="VERSION", default="6.12", show_default=True, help="6.12 or 6.1.")
@click.option(
    "--hz",
    type=click.Choice(["100", "250", "1000"]),
    default="1000",
    show_default=True,
    help="Ticks of the kernel's clock in a second; distributions have 250 or 1000.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Compilers at a time.")
def build(version: str, hz: str, jobs: int) -> None:
    """Build a kernel into the cache; needs no root.

    The cache is `~/.cache/roamlab/kernel`; $ROAMLAB_KERNELS names another folder.
    """
    from roamlab.base.errors import BadInput
    from roamlab.kernel import build as building
    from roamlab.kernel import cache

    if version not in cache.VERSIONS:
        raise BadInput(
            "--version",
            f"there is no {version}",
            expected="a version of Debian 12",
            remedy="write 6.12 or 6.1",
        )
    building.source_of(version)
    say(f"estimate: {building.MINUTES} min on one idle core, 1 GB in {cache.root()} meanwhile", err=True)
    folder = building.build(version, int(hz), jobs, _teller())
    say(f"kernel: {folder}")


LOG_SECONDS = 10.0
"""A line of progress this often."""


def _teller() -> Callable[[str, float], None]:
    """Prints the progress of the build, and the estimated rest."""
    start = due = time.monotonic()

    def tell(step: str, share: float) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due:
            return
        due = now + LOG_SECONDS
        left = f", {(now - start) * (1 - share) / share:.0f} s left" if share > 0.15 else ""
        say(f"{step}: {100 * share:.0f} %{left}", err=True)

    return tell


@command.command("show")
@JSON
def show(as_json: bool) -> None:
    """Show the kernels that runs take."""
    from roamlab.commands.output import print_json
    from roamlab.kernel import cache

    kernels = {version: cache.built(version) for version in cache.VERSIONS}
    found = {version: str(folder) for version, folder in kernels.items() if folder}
    if as_json:
        print_json(found)
        return
    for version, where in found.items():
        say(f"{version}: {where}")
    if not found:
        say(f"no kernel in {cache.root()}; build one: roamlab kernel build")
