"""Runs `roamlab sweep` in forks of one process, and disturbs them: not a test, but what the tests start.

    python disturb.py FOLDER kill|interrupt|limit

In FOLDER lies `sweep.toml`. Prints a line of JSON for each attempt: how it was disturbed and how it ended.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

# Imported here, used only in the forks: threads that one had started would be missing in them.
import roamlab.cli
import roamlab.records.storage.shards
import roamlab.running.ensemble
import roamlab.sweeps.compare
import roamlab.sweeps.sweepfile
import roamlab.sweeps.sweepresult

ATTEMPTS = 60


def attempt(file_limit: int | None = None) -> int:
    """A fork that sweeps; its process number."""
    child = os.fork()
    if child:
        return child
    if file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    errors = os.open("errors.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(errors, 2)
    sys.argv = ["roamlab", "sweep", "sweep.toml", "--threads", "2"]
    code = 70
    try:
        roamlab.cli.main()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 71
    finally:
        os._exit(code)


def end(child: int) -> int:
    """The exit code, or the negative number of the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tell(how: object, code: int) -> int:
    shards = len(list(Path("out/store/shards").glob("*.parquet")))
    print(json.dumps({"how": how, "code": code, "shards": shards}), flush=True)
    return code


def kill() -> None:
    dice = random.Random(7)
    for _ in range(ATTEMPTS):
        wait = dice.uniform(0.05, 0.8)
        child = attempt()
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        if tell(wait, end(child)) == 0:
            break
    tell("at last", end(attempt()))


def interrupt() -> None:
    child = attempt()
    deadline = time.monotonic() + 60
    while not list(Path("out/store/shards").glob("*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(child, signal.SIGINT)
    tell("SIGINT", end(child))
    tell("at last", end(attempt()))


def limit() -> None:
    for size in (1, 500, 5_000, 30_000, 45_000):
        tell(size, end(attempt(file_limit=size)))
    tell("at last", end(attempt()))


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    roamlab.records.storage.shards.SECONDS = 0.0
    {"kill": kill, "interrupt": interrupt, "limit": limit}[sys.argv[2]]()
