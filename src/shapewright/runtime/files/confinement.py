"""Confine a process so that it can write in one folder only, whatever runs in it.

Python's functions are redirected to a layer (`layer.py`). What goes past them, C
libraries and child processes, is held here by the kernel: Landlock refuses every write
outside the folder, and changes of rights, owners and times are ignored.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import stat
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of Landlock's system calls, the same on every processor."""

WRITE_FILE = 1 << 1
REMOVALS = 1 << 4 | 1 << 5  # of folders, of files
ADDITIONS = sum(1 << bit for bit in range(6, 13))  # of files, folders, links ...
RENAME = 1 << 13  # from one folder to another, since version 2
TRUNCATE = 1 << 14  # since version 3

NO_SIGNALS = 1 << 1  # to processes outside, since version 6

WRITABLE_DEVICES = ("/dev/pts", "/dev/dri", "/dev/snd", "/dev/infiniband")
SHARED_MEMORY = "/dev/shm"

SET_PARENT_DEATH_SIGNAL, SET_NO_NEW_PRIVILEGES, SET_SECCOMP = 1, 38, 22
SECCOMP_FILTER = 2

ATTRIBUTE_CALLS = {
    "x86_64": (
        0xC000003E,
        (
            90,
            91,
            268,
            92,
            93,
            94,
            260,
            132,
            235,
            261,
            280,
            *range(188, 191),
            197,
            198,
            199,
        ),
    ),
    "aarch64": (0xC00000B7, (52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16)),
}
"""A processor's number in `seccomp`, and its calls that change rights, owners, times
and extended attributes: `chmod`, `chown`, `utime`, `setxattr` and their like. From
Linux's tables: `arch/x86/entry/syscalls/syscall_64.tbl` for the first,
`include/uapi/asm-generic/unistd.h` for the others.
"""

ATTRIBUTE_CALLS_EVERYWHERE = (452, 463, 466)
"""`fchmodat2`, `setxattrat`, `removexattrat`: the same on every processor."""


@functools.cache  # what holds a process holds all that it starts
def confine_writes(folder: str) -> bool:
    """Restrict writes of this process, and of all that it starts, to one folder.

    Returns whether the kernel holds it. False on other systems than Linux, and where
    Landlock is missing or switched off; then nothing has changed. It cannot be undone,
    so it is for a child process that ends.

    Example: after ``confine("/tmp/x")``, ``open("/tmp/x/a", "w")`` works, and
    ``sqlite3.connect("results.db")`` cannot write.
    """
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None, use_errno=True)
    version = system.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    rights = WRITE_FILE | REMOVALS | ADDITIONS
    rights |= RENAME if version >= 2 else 0
    rights |= TRUNCATE if version >= 3 else 0
    ruleset = _create_ruleset(system, version, rights)
    if ruleset < 0:
        return False
    try:
        _allow_rights(system, ruleset, folder, rights)
        _allow_rights(system, ruleset, SHARED_MEMORY, rights)
        on_files = rights & (WRITE_FILE | TRUNCATE)
        for device in (*WRITABLE_DEVICES, *_find_character_devices()):
            _allow_rights(system, ruleset, device, on_files)
        if system.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            return False
        if system.syscall(RESTRICT_SELF, ruleset, 0):
            return False
    finally:
        os.close(ruleset)
    _ignore_attribute_calls(system)
    return True


def end_with_parent() -> None:
    """Have the kernel end this process when the one that forked it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, 9, 0, 0, 0)


def _create_ruleset(system: ctypes.CDLL, version: int, rights: int) -> int:
    """Return the file descriptor of a new ruleset that refuses `rights` everywhere."""
    attributes = struct.pack("=Q", rights)
    if version >= 6:
        attributes = struct.pack("=QQQ", rights, 0, NO_SIGNALS)
    size = ctypes.c_size_t(len(attributes))
    descriptor: int = system.syscall(CREATE_RULESET, attributes, size, 0)
    return descriptor


def _allow_rights(system: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """Allow `rights` on a file or below a folder, if `path` exists."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", rights, place)
        system.syscall(ADD_RULE, ruleset, 1, rule, 0)
    finally:
        os.close(place)


def _find_character_devices() -> list[str]:
    """Return the paths of character devices (terminals, GPUs), which hold no files."""
    devices = []
    with os.scandir("/dev") as entries:
        for entry in entries:
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except OSError:
                continue
            if stat.S_ISCHR(mode):
                devices.append(entry.path)
    return devices


def _ignore_attribute_calls(system: ctypes.CDLL) -> None:
    """Make calls that change rights, owners or times succeed without doing anything."""
    processor = ATTRIBUTE_CALLS.get(platform.machine())
    if processor is None:
        return
    number, calls = processor
    calls += ATTRIBUTE_CALLS_EVERYWHERE
    load, equals, end = 0x20, 0x15, 0x06
    allow, skip = 0x7FFF0000, 0x00050000  # an error with the number 0: no error
    program = [
        (load, 0, 0, 4),  # the processor
        (equals, 1, 0, number),
        (end, 0, 0, allow),
        (load, 0, 0, 0),  # the call
    ]
    for at, call in enumerate(calls):
        program.append((equals, len(calls) - at, 0, call))
    program += [(end, 0, 0, allow), (end, 0, 0, skip)]
    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    kept = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(kept))
    system.prctl(SET_SECCOMP, SECCOMP_FILTER, header, 0, 0)
