"""Files that a program writes lie in a temporary folder, and are read from there.

The user's own are never changed: what is removed or renamed is so for the run only.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

PLAIN = ("/dev/", "/proc/")


class Shadow:
    """A folder that lies over the file system: what is written, is written there."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.gone: set[str] = set()
        self.written: dict[str, None] = {}
        self.stat = os.stat
        self.mkdir = os.mkdir
        self.makedirs = os.makedirs
        self.open = io.open
        self.scandir = os.scandir
        self.listdir = os.listdir

    def path(self, file: Any) -> str | None:
        """The absolute path of a file that is named, None for what is no name."""
        if isinstance(file, bytes):
            file = os.fsdecode(file)
        if not isinstance(file, str | os.PathLike):
            return None
        path = os.path.abspath(os.fspath(file))
        mine = path == self.folder or path.startswith(self.folder + os.sep)
        return None if mine or path.startswith(PLAIN) else path

    def over(self, path: str) -> str:
        """Where the shadow of a path lies."""
        return self.folder + path

    def is_there(self, path: str) -> bool:
        """Whether there is something at a path, below our own patches."""
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def reading(self, file: Any) -> Any:
        """What to read for a name."""
        path = self.path(file)
        if path is None:
            return file
        if self.is_there(self.over(path)):
            return self.over(path)
        if path in self.gone:
            return self.over(path)  # which is not there
        return file

    def writing(self, file: Any, keeps: bool = False) -> Any:
        """What to write for a name; with what it holds, where it `keeps` that."""
        path = self.path(file)
        if path is None:
            return file
        over, parent = self.over(path), os.path.dirname(path)
        if self.is_there(parent) or self.is_there(self.over(parent)):
            self.makedirs_real(self.over(parent))
        new_here = not self.is_there(over) and path not in self.gone
        if keeps and new_here and self.is_there(path):
            with self.open(path, "rb") as old, self.open(over, "wb") as new:
                shutil.copyfileobj(old, new)
        self.gone.discard(path)
        self.written.setdefault(path)
        return over

    def makedirs_real(self, folder: str) -> None:
        """A folder of the shadow, with all above it."""
        if not self.is_there(folder):
            self.makedirs_real(os.path.dirname(folder))
            self.mkdir(folder)

    def remove(self, file: Any) -> None:
        """`os.remove`."""
        path = self.path(file)
        if path is None or not self.is_there(self.reading(file)):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(file))
        self.gone.add(path)
        over = self.over(path)
        if self.is_there(over):
            if os.path.isdir(over):
                shutil.rmtree(over, ignore_errors=True)
            else:
                REMOVE(over)

    def rename(self, source: Any, target: Any) -> None:
        """`os.rename` and `os.replace`."""
        read = self.reading(source)
        if not self.is_there(read):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(source))
        to = self.writing(target)
        if os.path.isdir(read):
            shutil.copytree(read, to, dirs_exist_ok=True)
        else:
            with self.open(read, "rb") as old, self.open(to, "wb") as new:
                shutil.copyfileobj(old, new)
        self.remove(source)

    def names(self, folder: Any) -> list[str]:
        """`os.listdir`, of both."""
        path = self.path(folder)
        if path is None:
            return self.listdir(folder)
        found: dict[str, None] = {}
        there = False
        for each in (path, self.over(path)):
            if self.is_there(each):
                there = True
                found.update(dict.fromkeys(self.listdir(each)))
        if not there:
            raise FileNotFoundError(2, "No such file or directory", os.fspath(folder))
        return [
            name
            for name in found
            if os.path.join(path, name) not in self.gone
            or self.is_there(os.path.join(self.over(path), name))
        ]

    def entries(self, folder: Any) -> Iterator[Any]:
        """`os.scandir`, of both; the program's names stand on what is written."""
        if self.path(folder) is None:
            yield from self.scandir(folder)
            return
        for name in self.names(folder):
            yield Entry(self, os.path.join(os.fspath(folder), name), name)


class Entry:
    """An `os.DirEntry`, of a file that may lie in the shadow."""

    def __init__(self, shadow: Shadow, path: Any, name: str) -> None:
        self.path, self.name = path, name
        self.shadow = shadow

    def __fspath__(self) -> Any:
        return self.path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        read = self.shadow.reading(self.path)
        return self.shadow.stat(read, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        return self.stat().st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return os.path.isdir(self.path)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return os.path.isfile(self.path)

    def is_symlink(self) -> bool:
        return os.path.islink(self.path)


class Entries:
    """What `os.scandir` gives: an iterator that can be closed."""

    def __init__(self, found: Iterator[Any]) -> None:
        self.found = found

    def __iter__(self) -> Iterator[Any]:
        return self.found

    def __next__(self) -> Any:
        return next(self.found)

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def close(self) -> None:
        """There is nothing to close."""


REMOVE = os.remove


@contextmanager
def files_kept() -> Iterator[Shadow]:
    """Nothing is written outside a temporary folder, which is removed."""
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory("", "shapewright-", ignore_cleanup_errors=True)
        )
        shadow = Shadow(folder)
        for owner, name, function in replacements(shadow):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, function)
        yield shadow


def replacements(shadow: Shadow) -> list[tuple[Any, str, Callable[..., Any]]]:
    """What a program opens, makes, asks for and removes files with."""
    opening = shadow.open
    stat, lstat, mkdir, rmdir = os.stat, os.lstat, os.mkdir, os.rmdir
    opening_low, access = os.open, os.access

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(mode, str) and set(mode) & set("wax+"):
            file = shadow.writing(file, keeps="w" not in mode and "x" not in mode)
        else:
            file = shadow.reading(file)
        return opening(file, mode, *rest, **named)

    def asked(original: Any) -> Any:
        def stat(file: Any, *rest: Any, **named: Any) -> Any:
            if named.get("dir_fd") is not None:
                return original(file, *rest, **named)
            return original(shadow.reading(file), *rest, **named)

        return stat

    def made(file: Any, *rest: Any, **named: Any) -> None:
        there = shadow.reading(file)
        if shadow.path(file) is not None and shadow.is_there(there):
            raise FileExistsError(17, "File exists", os.fspath(file))
        mkdir(shadow.writing(file), *rest, **named)

    def removing(original: Any) -> Any:
        def removed(file: Any, *rest: Any, **named: Any) -> None:
            if named.get("dir_fd") is not None or shadow.path(file) is None:
                original(file, *rest, **named)
            else:
                shadow.remove(file)

        return removed

    def renamed(source: Any, target: Any, *rest: Any, **named: Any) -> None:
        if shadow.path(source) is None and shadow.path(target) is None:
            RENAME(source, target)
        else:
            shadow.rename(source, target)

    def listed(folder: Any = ".") -> list[str]:
        return shadow.names(folder) if not isinstance(folder, int) else []

    def scanned(folder: Any = ".") -> Any:
        if isinstance(folder, int):
            return shadow.scandir(folder)
        if isinstance(folder, bytes):
            folder = os.fsdecode(folder)
        return Entries(iter(list(shadow.entries(folder))))

    def opened_low(
        file: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        if dir_fd is not None:
            return opening_low(file, flags, mode, dir_fd=dir_fd)
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            file = shadow.writing(file, keeps=not flags & (os.O_TRUNC | os.O_EXCL))
        else:
            file = shadow.reading(file)
        return opening_low(file, flags, mode)

    def allowed(file: Any, mode: int, *rest: Any, **named: Any) -> bool:
        return access(shadow.reading(file), mode, *rest, **named)

    def touched(file: Any, *rest: Any, **named: Any) -> None:
        stat(shadow.reading(file))  # raises where it is not there

    def emptied(folder: Any, *rest: Any, **named: Any) -> None:
        if shadow.path(folder) is None:
            RMTREE(folder, *rest, **named)
        elif os.path.exists(folder):
            shadow.remove(folder)

    def linked(source: Any, target: Any, *rest: Any, **named: Any) -> None:
        if os.path.isdir(source):
            shadow.makedirs_real(shadow.writing(target))
        elif os.path.exists(source):
            with opened(source, "rb") as old, opened(target, "wb") as new:
                shutil.copyfileobj(old, new)

    attributes = ["listxattr"] if hasattr(os, "listxattr") else []
    return [
        *((os, name, lambda *args, **named: []) for name in attributes),
        (builtins, "open", opened),
        (io, "open", opened),
        (os, "stat", asked(stat)),
        (os, "lstat", asked(lstat)),
        (os, "mkdir", made),
        (os, "remove", removing(REMOVE)),
        (os, "unlink", removing(REMOVE)),
        (os, "rmdir", removing(rmdir)),
        (os, "rename", renamed),
        (os, "replace", renamed),
        (os, "listdir", listed),
        (os, "scandir", scanned),
        (os, "open", opened_low),
        (os, "access", allowed),
        (os, "symlink", linked),
        (os, "link", linked),
        (os, "chmod", lambda *args, **named: None),
        (os, "utime", touched),
        (shutil, "rmtree", emptied),
    ]


RENAME = os.rename
RMTREE = shutil.rmtree
