"""The processes inside: new namespaces, a card in them, and programs that have no other network.

`ends` starts this file as a script, with the number of a socket. It uses the standard library alone. The first process
makes the namespaces (user, network, mount, process ids) and the card, whose file it sends away. The second one is the
first of the namespace of process ids: when it ends, the kernel kills every process in there. Nothing has a name
outside, so the kernel removes all of it with the last process.

The second process ends when the socket's other end is closed, and it is killed when the first one ends. So both end
when `roamlab shell` does, however that ends.

A program cannot forge its exit code or TCP's counters: the socket is closed for it, and it may not trace the processes
that have it. What of /proc and /sys is the machine's is read-only for the superuser, who could write it.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

CARD = b"roamlab0"
"""The card's name, in a namespace that has no other."""

GRACE_S = 1.0
"""Time for programs to end after the order."""

PATIENCE_S = 5.0
"""So long servers may take until they listen."""

COUNTED = {
    "Tcp": ("RetransSegs",),
    "TcpExt": ("TCPTimeouts", "TCPFastRetrans", "TCPLossProbes", "TCPSpuriousRTOs", "TCPSACKReorder"),
}
"""Counters of a network namespace that are read at the end, by the names in /proc/net/snmp and /proc/net/netstat."""

# linux/sched.h, linux/mount.h, linux/prctl.h
_NEWNS, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
_BIND, _REC, _PRIVATE, _DETACH = 4096, 16384, 1 << 18, 2
_RDONLY, _REMOUNT = 1, 32
_MOUNTED = {"nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
"""Options of a mount, as in /proc/self/mountinfo, which it keeps."""
_SET_PDEATHSIG, _SET_DUMPABLE = 1, 4
# linux/if_tun.h, linux/if.h, linux/sockios.h
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_IFF_UP = 0x1
_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFDSTADDR = 0x8914, 0x8916, 0x8918
# linux/rtnetlink.h, linux/if_link.h
_NEWLINK, _REQUEST, _TXQLEN = 16, 1, 13
_QUEUE = 10_000
"""Packets that may wait for the simulation. It takes them immediately, and queues are its own."""

_libc = ctypes.CDLL(None, use_errno=True)


_OF_THE_MACHINE = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/sys")
"""Files of the kernel that belong to the machine; of the first the part below `net` is the namespace's."""


class Refusal(Exception):
    """The machine does not permit it: what is wrong, and what to do."""


def main() -> None:
    """The first process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what the terminal sends is for the program
    to_outside = socket.socket(fileno=int(sys.argv[1]))
    to_outside.set_inheritable(False)
    parent = os.getppid()
    is_superuser = os.geteuid() == 0
    try:
        if is_superuser:
            _protect()
        _unshare(_NEWNET | _NEWPID)
        _die_with(parent)
        # Who may trace this process could take its socket (pidfd_getfd). A program that is started may be traced again.
        _prctl(_SET_DUMPABLE, 0)
        order = _receive(to_outside)
        card = _card(order["address"], order["peer"])
        _name_nodes(order["names"])
    except Refusal as refusal:
        problem, remedy = refusal.args
        _send(to_outside, {"error": problem, "help": remedy})
        sys.exit(1)
    socket.send_fds(to_outside, [b"{}"], [card])
    os.close(card)
    child = os.fork()
    if child == 0:
        # This one's parent has no number in the new namespace: if it has ended by now the socket shows it.
        _prctl(_SET_PDEATHSIG, signal.SIGKILL)
        _attend(to_outside)
    to_outside.close()
    os.waitpid(child, 0)


def _unshare(others: int) -> None:
    """New namespaces, of users, of mounts and `others`: in them this process is root, outside it is who it was."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_NEWUSER | _NEWNS | others):
        raise Refusal(
            f"user namespaces are not permitted ({os.strerror(ctypes.get_errno())})",
            "permit them with `sudo sysctl user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1`,"
            " in a container with `--security-opt seccomp=unconfined`",
        )
    try:
        for name, line in (
            ("setgroups", "deny"),
            ("uid_map", f"0 {user} 1"),
            ("gid_map", f"0 {group} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(line, encoding="utf-8")
    except OSError as error:
        raise _not_root(error) from None


def _not_root(error: OSError) -> Refusal:
    return Refusal(
        f"a user namespace here gives no rights over its network ({error.strerror})",
        "permit it with `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, where AppArmor restricts it",
    )


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _die_with(parent: int) -> None:
    """Be killed when the parent ends; end now if it has ended."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def _card(address: str, peer: str) -> int:
    """A card with this address, and a route to the peer alone; its file, which does not block."""
    try:
        card = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        raise Refusal(
            f"/dev/net/tun cannot be opened ({error.strerror})",
            "let users open it with `sudo chmod a+rw /dev/net/tun`"
            if isinstance(error, PermissionError)
            else "load it with `sudo modprobe tun`; let a container have it with `--device /dev/net/tun`",
        ) from None
    try:
        fcntl.ioctl(card, _TUNSETIFF, struct.pack("16sH22x", CARD, _IFF_TUN | _IFF_NO_PI))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:

            def tell(request: int, name: bytes, layout: str, *values: Any) -> None:
                fcntl.ioctl(control, request, struct.pack(f"16s{layout}", name, *values).ljust(40, b"\0"))

            for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFDSTADDR, peer)):
                tell(request, CARD, "HH4s", socket.AF_INET, 0, socket.inet_aton(value))
            for name in (CARD, b"lo"):
                tell(_SIOCSIFFLAGS, name, "H", _IFF_UP)
        _lengthen_queue()
    except OSError as error:
        raise _not_root(error) from None
    return card


def _lengthen_queue() -> None:
    """Let more packets wait in the card. The older call is only for root."""
    index = socket.if_nametoindex(CARD.decode())
    link = struct.pack("BxHiII", socket.AF_UNSPEC, 0, index, 0, 0)
    queue = struct.pack("HHI", 8, _TXQLEN, _QUEUE)
    header = struct.pack("IHHII", 16 + len(link) + len(queue), _NEWLINK, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as routes:
        routes.send(header + link + queue)


def _name_nodes(names: dict[str, str]) -> None:
    """Let programs find the nodes by name: another /etc/hosts, here alone. Not where the machine forbids it."""
    lines = "".join(f"{address} {name}\n" for name, address in names.items())
    place = "/sys"  # any folder that is there, for as long as the file is made
    if _mount(None, b"/", None, _REC | _PRIVATE) or _mount(b"none", place.encode(), b"tmpfs", 0):
        return
    hosts = Path(place, "hosts")
    try:
        hosts.write_text(f"127.0.0.1 localhost\n{lines}", encoding="utf-8")
        _mount(bytes(hosts), b"/etc/hosts", None, _BIND)
    finally:
        _libc.umount2(place.encode(), _DETACH)


def _protect() -> None:
    """Make what belongs to the machine read-only. Only the superuser could write it.

    That is done in namespaces around those of the programs: there the kernel permits no process to undo it or
    to mount another /proc.
    """
    _unshare(0)
    net = b"/proc/sys/net"
    _mount(net, net, None, _BIND)
    for place in filter(os.path.exists, _OF_THE_MACHINE):
        done = _mount(place.encode(), place.encode(), None, _BIND | _REC) == 0
        for mounted, options in _mounts_below(place) if done else ():
            keep = sum(_MOUNTED.get(option, 0) for option in options)
            if mounted != net and _mount(None, mounted, None, _REMOUNT | _BIND | _RDONLY | keep):
                done = False
        if not done:
            raise Refusal(
                f"{place} cannot be made read-only ({os.strerror(ctypes.get_errno())}), and root could write it",
                "run `roamlab shell` as another user",
            )


def _mounts_below(place: str) -> list[tuple[bytes, list[str]]]:
    """The mounts at a place and below it, with their options."""
    found = []
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        fields = line.split(b" ")
        mounted = re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), fields[4])
        if mounted == place.encode() or mounted.startswith(f"{place}/".encode()):
            found.append((mounted, fields[5].decode().split(",")))
    return list(dict(found).items())


def _mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int) -> int:
    return int(_libc.mount(source, target, kind, ctypes.c_ulong(flags), None))


def _attend(to_outside: socket.socket) -> NoReturn:
    """The second process: starts the requested programs, and collects the ended ones."""
    woken, waker = os.pipe()
    for end in (woken, waker):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    program = None
    while True:
        readable, _, _ = select.select([to_outside.fileno(), woken], [], [])
        if woken in readable:
            os.read(woken, 4096)
        for child, status in _ended():
            if child == program:
                _finish(to_outside, os.waitstatus_to_exitcode(status))
        if to_outside.fileno() not in readable:
            continue
        order = _receive(to_outside)
        if "serve" in order:
            _serve(order["serve"])
            _send(to_outside, {})
        elif "run" in order:
            program = _start(order["run"])
        else:
            _stop()
            _finish(to_outside, None)


def _ended() -> list[tuple[int, int]]:
    """Children that have ended, with their statuses."""
    ended = []
    try:
        while (found := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            ended.append(found)
    except ChildProcessError:
        pass
    return ended


def _start(command: list[str], *, as_server: bool = False) -> int:
    """A program; a server reads nothing, and its output is discarded, except its errors."""
    child = os.fork()
    if child:
        return child
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    if as_server:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _serve(commands: list[str]) -> None:
    """Start servers, and wait until as many ports are open, at most some seconds."""
    for command in commands:
        _start(["/bin/sh", "-c", f"exec {command}"], as_server=True)
    limit = time.monotonic() + PATIENCE_S
    while _open_ports() < len(commands) and time.monotonic() < limit:
        time.sleep(0.01)


def _open_ports() -> int:
    """Sockets that listen, and those of UDP."""
    count = 0
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        try:
            lines = Path(f"/proc/self/net/{name}").read_text(encoding="utf-8").splitlines()
            count += sum(line.split()[3] == state for line in lines[1:])
        except OSError:  # a kernel without IPv6
            continue
    return count


def _stop() -> None:
    """Ask every process in here to end, and give it some time."""
    limit = time.monotonic() + GRACE_S
    for number in (signal.SIGTERM, signal.SIGCONT):
        try:
            os.kill(-1, number)
        except ProcessLookupError:
            return
    while time.monotonic() < limit:
        _ended()
        try:
            os.kill(-1, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)


def _finish(to_outside: socket.socket, status: int | None) -> NoReturn:
    """Report how the program ended, and the counters of TCP. With this process all others in here end."""
    _send(to_outside, {"status": status, "counted": _counted()})
    os._exit(0)


def _counted() -> dict[str, int]:
    counted: dict[str, int] = {}
    for name in ("snmp", "netstat"):
        lines = [
            line.split() for line in Path(f"/proc/self/net/{name}").read_text(encoding="utf-8").splitlines()
        ]
        for heads, values in zip(lines[::2], lines[1::2], strict=True):
            wanted = COUNTED.get(heads[0].rstrip(":"), ())
            counted |= {head: int(value) for head, value in zip(heads, values, strict=True) if head in wanted}
    return counted


def _send(to_outside: socket.socket, message: dict[str, Any]) -> None:
    try:
        to_outside.send(json.dumps(message).encode())
    except OSError:  # the other side has gone
        os._exit(1)


def _receive(to_outside: socket.socket) -> dict[str, Any]:
    """The next order. Ends everything if the other side has gone."""
    try:
        content = to_outside.recv(1 << 20)
    except OSError:
        content = b""
    if not content:
        os._exit(1)
    order: dict[str, Any] = json.loads(content)
    return order


if __name__ == "__main__":
    main()
