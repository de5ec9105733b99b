"""What a program opens, makes, asks for and removes files with, led to a shadow."""

from __future__ import annotations

import builtins
import bz2
import io
import os
import shutil
import stat
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from shapewright.capture.rehearsal.files import Shadow

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC

Patch = tuple[Any, str, Callable[..., Any]]


@contextmanager
def files_kept() -> Iterator[Shadow]:
    """Nothing is written outside a temporary folder, which is removed."""
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory("", "shapewright-", ignore_cleanup_errors=True)
        )
        shadow = Shadow(os.path.realpath(folder))
        stack.callback(setattr, shadow, "over_with", True)
        stack.callback(os.chdir, os.getcwd())
        stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = os.path.join(shadow.folder, "temporary")
        os.mkdir(tempfile.tempdir)  # its files remove themselves, below our patches
        for owner, name, function in [
            *opening(shadow),
            *asking(shadow),
            *moving(shadow),
        ]:
            if hasattr(owner, name):  # xattr is Linux's alone
                stack.callback(setattr, owner, name, getattr(owner, name))
                setattr(owner, name, function)
        stack.enter_context(of_numpy(shadow))
        yield shadow


@contextmanager
def of_numpy(shadow: Shadow) -> Iterator[None]:
    """`np.savetxt` and its like keep the `open` that was there when numpy came."""
    module = sys.modules.get("numpy.lib._datasource")
    kept = getattr(getattr(module, "_file_openers", None), "_file_openers", None)
    if not isinstance(kept, dict) or None not in kept:
        yield
        return
    before, kept[None] = kept[None], io.open
    try:
        yield
    finally:
        kept[None] = before


def opening(shadow: Shadow) -> list[Patch]:
    """Files that are opened, and folders that are made."""
    opening, low, mkdir = shadow.open, os.open, os.mkdir

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(mode, str) and set(mode) & set("wax+"):
            file = shadow.writing(file, keeps="w" not in mode)
        else:
            file = shadow.reading(file)
        return opening(file, mode, *rest, **named)

    def opened_low(file: Any, flags: int, *rest: Any, **named: Any) -> int:
        if named.get("dir_fd") is None:
            writes = flags & WRITES
            keeps = not flags & os.O_TRUNC
            file = shadow.writing(file, keeps) if writes else shadow.reading(file)
        return low(file, flags, *rest, **named)

    def made(file: Any, *rest: Any, **named: Any) -> None:
        if shadow.path(file) is not None and shadow.is_there(shadow.reading(file)):
            raise FileExistsError(17, "File exists", os.fspath(file))
        mkdir(shadow.writing(file), *rest, **named)

    return [
        (builtins, "open", opened),
        (io, "open", opened),
        (bz2, "_builtin_open", opened),  # which keep the `open` that was there
        (tarfile, "bltn_open", opened),
        (os, "open", opened_low),
        (os, "mkdir", made),
    ]


def asking(shadow: Shadow) -> list[Patch]:
    """What is there, of which kind; where the program stands."""
    scandir, chdir, getcwd = os.scandir, os.chdir, os.getcwd

    def asked(original: Any) -> Any:
        def ask(file: Any, *rest: Any, **named: Any) -> Any:
            if named.get("dir_fd") is not None:
                return original(file, *rest, **named)
            return original(shadow.reading(file), *rest, **named)

        return ask

    def listed(folder: Any = ".") -> list[str]:
        return shadow.names(folder)

    def scanned(folder: Any = ".") -> Any:
        path = shadow.path(folder)
        touched = path is not None and (
            shadow.is_there(shadow.over(path)) or shadow.gone
        )
        if path is None or isinstance(folder, bytes) or not touched:
            return scandir(folder)
        return Entries(shadow, os.fspath(folder))

    def gone_to(folder: Any) -> None:
        path = shadow.path(folder)
        if path is None or (shadow.is_there(path) and not shadow.is_gone(path)):
            chdir(folder if path is None else path)
        else:
            chdir(shadow.over(path))

    def here() -> str:
        folder = getcwd()
        if folder == shadow.folder or folder.startswith(shadow.folder + os.sep):
            return folder[len(shadow.folder) :] or os.sep
        return folder

    return [
        (os, "stat", asked(os.stat)),
        (os, "lstat", asked(os.lstat)),
        (os, "access", asked(os.access)),
        (os, "listxattr", asked(getattr(os, "listxattr", None))),
        (os, "listdir", listed),
        (os, "scandir", scanned),
        (os, "chdir", gone_to),
        (os, "getcwd", here),
    ]


def moving(shadow: Shadow) -> list[Patch]:
    """What is removed, renamed, linked or changed without being opened."""
    rename, unlink, rmdir, rmtree = os.rename, os.remove, os.rmdir, shutil.rmtree

    def removed(file: Any, *rest: Any, **named: Any) -> None:
        if shadow.path(file) is None or named.get("dir_fd") is not None:
            unlink(file, *rest, **named)
        elif os.path.isdir(file):
            raise IsADirectoryError(21, "Is a directory", os.fspath(file))
        else:
            shadow.remove(file)

    def emptied(folder: Any, *rest: Any, **named: Any) -> None:
        if shadow.path(folder) is None or named.get("dir_fd") is not None:
            rmdir(folder, *rest, **named)
        elif os.path.isdir(folder) and shadow.names(folder):
            raise OSError(39, "Directory not empty", os.fspath(folder))
        else:
            shadow.remove(folder)

    def renamed(source: Any, target: Any, *rest: Any, **named: Any) -> None:
        if shadow.path(source) is None or shadow.path(target) is None:
            rename(source, target, *rest, **named)
        else:
            shadow.rename(source, target)

    def cleared(
        folder: Any, ignore_errors: bool = False, *rest: Any, **named: Any
    ) -> None:
        if shadow.path(folder) is None:
            rmtree(folder, ignore_errors, *rest, **named)
        elif not ignore_errors or os.path.exists(folder):
            shadow.remove(folder)

    def linked(source: Any, target: Any, *rest: Any, **named: Any) -> None:
        if os.path.exists(source):
            shadow.copy(source, target)

    def marked(file: Any, *rest: Any, **named: Any) -> None:
        """Rights and times of files say nothing of shapes; that they are there does."""
        if shadow.path(file) is not None:
            os.lstat(file)

    return [
        (os, "remove", removed),
        (os, "unlink", removed),
        (os, "rmdir", emptied),
        (os, "rename", renamed),
        (os, "replace", renamed),
        (os, "symlink", linked),
        (os, "link", linked),
        (os, "chmod", marked),
        (os, "chown", marked),
        (os, "lchown", marked),
        (os, "utime", marked),
        (os, "setxattr", marked),
        (shutil, "rmtree", cleared),
    ]


class Entry:
    """`os.DirEntry`, of what is seen through a shadow."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        self.path = os.path.join(folder, name)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        return self.stat(follow_symlinks=False).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.is_a(stat.S_ISDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self.is_a(stat.S_ISREG, follow_symlinks)

    def is_symlink(self) -> bool:
        return self.is_a(stat.S_ISLNK, False)

    def is_junction(self) -> bool:
        return False

    def is_a(self, kind: Callable[[int], bool], follow: bool) -> bool:
        """Whether its mode is of a kind; a link to nowhere is of none."""
        try:
            return kind(self.stat(follow_symlinks=follow).st_mode)
        except FileNotFoundError:
            return False


class Entries:
    """`os.scandir` of what is seen through a shadow."""

    def __init__(self, shadow: Shadow, folder: str) -> None:
        self.items = iter([Entry(folder, name) for name in shadow.names(folder)])

    def __iter__(self) -> Entries:
        return self

    def __next__(self) -> Entry:
        return next(self.items)

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def close(self) -> None:
        """Nothing is open."""
