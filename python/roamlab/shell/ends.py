"""An end of a run in real time: the processes in its namespaces, as `roamlab shell` sees them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput, RoamlabError
from roamlab.shell import inside

if TYPE_CHECKING:
    from types import TracebackType

_PATIENCE_S = 30.0
"""So long an answer may take; what is asked takes at most some seconds."""


class End:
    """Namespaces with a card, for one node. Leaving the block ends every process in them."""

    def __init__(self, node: str) -> None:
        """Start the processes for this node."""
        self.node = node
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_PATIENCE_S)
        script = str(Path(inside.__file__))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", script, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )

    def __enter__(self) -> End:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()  # which ends the processes
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def fileno(self) -> int:
        """A file that can be read once the program has ended."""
        return self._socket.fileno()

    def make_card(self, address: str, peer: str, names: dict[str, str]) -> int:
        """A card with this address, from which the peer's can be reached; its file. Raises `BadInput`."""
        self._send({"address": address, "peer": peer, "names": names})
        content, files, _, _ = socket.recv_fds(self._socket, 1 << 20, 1)
        answer = self._read(content)
        if "error" in answer:
            raise BadInput(
                "roamlab shell",
                answer["error"],
                expected="a machine on which a user may make a separate network",
                remedy=answer["help"],
            )
        return files[0]

    def serve(self, commands: list[str]) -> None:
        """Start servers, and wait until they listen."""
        self._send({"serve": commands})
        self._answer()

    def run(self, command: list[str]) -> None:
        """Start the program."""
        self._send({"run": command})

    def finish(self) -> tuple[int | None, dict[str, int]]:
        """End every program; the status of the one that had ended alone, and the counters of TCP."""
        with suppress(RoamlabError):  # if it has ended, its output is still there
            self._send({"stop": True})
        answer = self._answer()
        return answer["status"], answer["counted"]

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._socket.send(json.dumps(message).encode())
        except OSError:
            raise self._gone() from None

    def _answer(self) -> dict[str, Any]:
        try:
            content = self._socket.recv(1 << 20)
        except ConnectionResetError:  # it had ended before it got the order; its output is still there
            content = self._socket.recv(1 << 20)
        return self._read(content)

    def _read(self, content: bytes) -> dict[str, Any]:
        if not content:
            raise self._gone()
        answer: dict[str, Any] = json.loads(content)
        return answer

    def _gone(self) -> RoamlabError:
        return RoamlabError(f"the processes of {self.node} have ended, killed perhaps")


def hand_over(number: int, files: list[int]) -> None:
    """Send files by the socket with this number, which is closed; the files are closed too."""
    with socket.socket(fileno=number) as to_engine:
        socket.send_fds(to_engine, [b"."], files)
    for file in files:
        os.close(file)
