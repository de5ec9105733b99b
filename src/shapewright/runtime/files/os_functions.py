"""Redirect functions of `os` that change files or look at them to a layer."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import wraps
from typing import Any

from shapewright.runtime.files.layer import Layer

Patch = tuple[Any, str, Callable[..., Any]]
"""An owner, the name of its function, and the function that replaces it."""


def resolve_path(file: Any, folder: int | None) -> Any:
    """Return the path of a file that is named relative to the open folder `dir_fd`."""
    if folder is None or not isinstance(file, str | bytes | os.PathLike):
        return file
    if os.path.isabs(os.fspath(file)):
        return file
    return os.path.join(_find_open_path(folder), os.fsdecode(os.fspath(file)))


def _find_open_path(descriptor: int) -> str:
    """Return the path of the file or folder behind a file descriptor."""
    if sys.platform == "darwin":
        import fcntl

        path = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return os.fsdecode(path.rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")


def make_moving_patches(layer: Layer) -> list[Patch]:
    """Return patches that remove, rename or link files without opening them."""
    rename, unlink, rmdir, rmtree = os.rename, os.remove, os.rmdir, shutil.rmtree
    copyfile = shutil.copyfile

    def removed(file: Any, *, dir_fd: int | None = None) -> None:
        file = resolve_path(file, dir_fd)
        if layer.path(file) is None:
            unlink(file)
        elif os.path.isdir(file) and not os.path.islink(file):
            raise IsADirectoryError(21, "Is a directory", os.fspath(file))
        else:
            layer.remove(file)

    def emptied(folder: Any, *, dir_fd: int | None = None) -> None:
        folder = resolve_path(folder, dir_fd)
        if layer.path(folder) is None:
            rmdir(folder)
        elif os.path.exists(folder) and not os.path.isdir(folder):
            raise NotADirectoryError(20, "Not a directory", os.fspath(folder))
        elif os.path.isdir(folder) and layer.names(folder):
            raise OSError(39, "Directory not empty", os.fspath(folder))
        else:
            layer.remove(folder)

    def renamed(
        source: Any,
        target: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        source, target = (
            resolve_path(source, src_dir_fd),
            resolve_path(target, dst_dir_fd),
        )
        if layer.path(source) is None or layer.path(target) is None:
            rename(source, target)
        else:
            layer.rename(source, target)

    def cleared(
        folder: Any, ignore_errors: bool = False, *rest: Any, **named: Any
    ) -> None:
        folder = resolve_path(folder, named.pop("dir_fd", None))
        if layer.path(folder) is None:
            rmtree(folder, ignore_errors, *rest, **named)
        elif os.path.isdir(folder) and not os.path.islink(folder):
            layer.remove(folder)
        elif not ignore_errors:
            rmtree(folder, ignore_errors, *rest, **named)  # which says why not

    def linked(
        source: Any,
        target: Any,
        *rest: Any,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        dir_fd: int | None = None,
        **named: Any,
    ) -> None:
        source = resolve_path(source, src_dir_fd)
        target = resolve_path(target, dir_fd if dst_dir_fd is None else dst_dir_fd)
        beside = os.path.join(os.path.dirname(os.fspath(target)), os.fspath(source))
        for origin in (source, beside):  # a symbolic link's target is seen from there
            if os.path.exists(origin):
                layer.copy(origin, target)
                return

    def copied(source: Any, target: Any, *, follow_symlinks: bool = True) -> Any:
        """Stand in for `shutil.copyfile`, without reading the user's file."""
        old, new = layer.path(source), layer.path(target)
        if old is None or new is None or old == new or not os.path.isfile(source):
            return copyfile(source, target, follow_symlinks=follow_symlinks)
        if os.path.isdir(target):
            raise IsADirectoryError(21, "Is a directory", os.fspath(target))
        layer.copy(source, target)
        return target

    return [
        (shutil, "copyfile", copied),
        (os, "remove", removed),
        (os, "unlink", removed),
        (os, "rmdir", emptied),
        (os, "rename", renamed),
        (os, "replace", renamed),
        (os, "symlink", linked),
        (os, "link", linked),
        (shutil, "rmtree", cleared),
    ]


ATTRIBUTES = (
    "chmod", "lchmod", "chown", "lchown", "utime", "setxattr", "removexattr",
    "chflags", "lchflags",
)  # fmt: skip
"""Functions of `os` that change a file's rights, owner or times. They have no effect on
shapes, so the stand-ins only check that the file exists.
"""


def make_attribute_patches(layer: Layer) -> list[Patch]:
    """Return patches that leave permissions, owners and times of files unchanged."""

    def marked(original: Any) -> Any:
        def mark(
            file: Any, *rest: Any, dir_fd: int | None = None, **named: Any
        ) -> None:
            file = resolve_path(file, dir_fd)
            if layer.path(file) is None and not isinstance(file, int):
                original(file, *rest, **named)
            elif not isinstance(file, int):
                os.lstat(file)

        return mark

    def passed_over(descriptor: int, *rest: Any) -> None:
        os.fstat(descriptor)

    return [
        *((os, name, marked(getattr(os, name, None))) for name in ATTRIBUTES),
        (os, "fchmod", passed_over),
        (os, "fchown", passed_over),
    ]


TERMINAL = {"stty size": "echo 24 80"}
"""What a program asks a terminal for, and how one of a usual size answers."""


def make_process_patches(layer: Layer) -> list[Patch]:
    """Return patches that note started processes, which see the real files."""
    popen, system = subprocess.Popen.__init__, os.system

    def note(command: Any) -> None:
        if not _is_called_by_library():
            layer.started.setdefault(_format_command(command))

    @wraps(popen)
    def started(self: Any, args: Any, *rest: Any, **named: Any) -> None:
        if named.get("cwd") is not None:
            named["cwd"] = layer.reading(named["cwd"])
        args = TERMINAL.get(args, args) if isinstance(args, str) else args
        note(args)
        popen(self, args, *rest, **named)

    @wraps(system)
    def ran(command: Any) -> int:
        note(command)
        return system(command)

    return [(subprocess.Popen, "__init__", started), (os, "system", ran)]


LIBRARIES = (sysconfig.get_path("stdlib"), "site-packages", "dist-packages")


def _is_called_by_library() -> bool:
    """Return whether the caller, apart from us and `subprocess`, is a library."""
    frame: Any = sys._getframe()
    ours = (os.path.dirname(__file__), subprocess.__file__)
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    file = frame.f_code.co_filename if frame is not None else ""
    return any(part in file for part in LIBRARIES)


def _format_command(command: Any) -> str:
    """Return a command as one line, truncated if it is long."""
    if isinstance(command, bytes | str | os.PathLike):
        line = os.fsdecode(os.fspath(command))
    else:
        line = " ".join(os.fsdecode(os.fspath(word)) for word in command)
    line = " ".join(line.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def make_query_patches(layer: Layer) -> list[Patch]:
    """Return patches for queries about files, their kinds, and the working
    directory.
    """
    scandir, chdir, getcwd = os.scandir, os.chdir, os.getcwd

    def asked(original: Any) -> Any:
        def ask(file: Any, *rest: Any, dir_fd: int | None = None, **named: Any) -> Any:
            return original(layer.reading(resolve_path(file, dir_fd)), *rest, **named)

        return ask

    def listed(folder: Any = ".") -> list[str]:
        return layer.names(folder)

    def scanned(folder: Any = ".") -> Any:
        path = layer.path(folder)
        touched = path is not None and (
            layer.origins or layer.is_there(layer.over(os.path.dirname(path)))
        )
        if path is None or isinstance(folder, bytes) or not touched:
            return scandir(folder)
        return _Entries(layer, os.fspath(folder))

    def gone_to(folder: Any) -> None:
        path = layer.path(folder)
        origin = None if path is None else layer.origin(path)
        if path is None:
            chdir(folder)
        elif origin == path and layer.is_there(path):
            chdir(path)
        else:
            if layer.is_folder(path):
                layer.made(layer.over(path))
            chdir(layer.over(path))

    def here() -> str:
        folder = getcwd()
        if folder == layer.folder or folder.startswith(layer.folder + os.sep):
            return folder[len(layer.folder) :] or os.sep
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


class _Entry:
    """A stand-in for `os.DirEntry`, for a file that is seen through a layer."""

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
        """Return whether the entry is of a kind; a broken link is of none."""
        try:
            return kind(self.stat(follow_symlinks=follow).st_mode)
        except FileNotFoundError:
            return False


class _Entries:
    """A stand-in for `os.scandir`, for a folder that is seen through a layer."""

    def __init__(self, layer: Layer, folder: str) -> None:
        self.items = iter([_Entry(folder, name) for name in layer.names(folder)])

    def __iter__(self) -> _Entries:
        return self

    def __next__(self) -> _Entry:
        return next(self.items)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def close(self) -> None:
        """Do nothing, since nothing is open."""
