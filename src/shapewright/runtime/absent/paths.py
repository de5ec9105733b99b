"""Paths that are not there: which of them a program may take to exist.

A file or folder that a program only asks for stays absent: it may be made, or done
without. Where the program cannot go on without it (`assert os.path.exists(root)`, a
folder that is listed), it is taken to be there, and what it holds is decided by what
reads it.
"""

from __future__ import annotations

import ast
import fnmatch
import glob
import linecache
import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import CodeType, FrameType
from typing import Any

from shapewright.engine.replacement import replace_attribute
from shapewright.program.spans import INSTALLED
from shapewright.record.ops import Basis
from shapewright.runtime.absent.guards import (
    ABSENT_FILES,
    is_call_guarded,
    is_ending,
)
from shapewright.runtime.absent.settings import (
    GivenData,
    PictureFolder,
    StandInSettings,
)
from shapewright.runtime.absent.tellers import Tell
from shapewright.runtime.files.program_files import find_layer

PICTURES = 200
"""Files of a folder about which nothing is said."""
SHAPE = (3, 375, 500)
"""Channels, height and width of a picture about which nothing is said."""
MASKS = ("mask", "label", "annot", "seg", "gt", "depth")
"""What a folder of single-channel pictures is called."""
ENDING = ".jpg"
PICTURE_ENDINGS = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".gif", ".ppm",
)  # fmt: skip


class AbsentPaths:
    """The files and folders that are taken to be there, and what is known of them."""

    def __init__(
        self, settings: StandInSettings, tell: Tell, holds: Callable[[str], bool]
    ) -> None:
        self.settings, self.tell, self.holds = settings, tell, holds
        self.listed: dict[str, list[str]] = {}
        self.promised: set[str] = set()
        self.really = os.path.lexists

    def find(self, path: Any) -> GivenData | None:
        """Return what the user says of a path, by its whole name or its end."""
        name = os.path.abspath(os.fsdecode(path))
        for data in self.settings.data:
            if data.length:
                continue
            stated_path = os.path.abspath(data.name)
            if name == stated_path or fnmatch.fnmatch(name, stated_path):
                return data
        return None

    def is_absent(self, path: Any) -> bool:
        """Return whether a path names nothing that is there, but could be: the folders
        of installed packages lack nothing.
        """
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        if self.really(os.fspath(path)) or _is_removed(path):
            return False
        name = os.path.abspath(os.fsdecode(path))
        return not any(part in INSTALLED for part in name.split(os.sep))

    def stands_in(self, path: Any, frame: FrameType | None) -> bool:
        """Return whether something may stand for an absent path that the program reads:
        it reads it itself, and has no way of its own without it.
        """
        if not self.is_absent(path):
            return False
        inner = frame
        while inner is not None and not self.holds(inner.f_code.co_filename):
            inner = inner.f_back
        if inner is None:
            return False
        return not is_call_guarded(frame, ABSENT_FILES, self.holds)

    def is_taken(self, path: Any) -> bool:
        """Return whether an absent path is taken to be there."""
        name = os.path.abspath(os.fsdecode(path))
        folder, last = os.path.split(name)
        return (
            name in self.promised
            or name in self.listed
            or last in self.listed.get(folder, ())
        )

    def is_folder(self, path: Any) -> bool:
        """Return whether an absent path is taken to be a folder."""
        name = os.path.abspath(os.fsdecode(path))
        return name in self.listed or any(
            listed_path.startswith(name + os.sep)
            for listed_path in (*self.listed, *self.promised)
        )

    def list_names(self, path: Any, pattern: str = "*") -> list[str]:
        """Return the names in an absent folder that match a pattern."""
        folder = os.path.abspath(os.fsdecode(path))
        if folder not in self.listed:
            self.listed[folder] = self._make_names(folder, pattern)
        matching = fnmatch.filter(self.listed[folder], pattern)
        if not matching and "*" not in os.path.splitext(pattern)[0]:
            ending = os.path.splitext(pattern)[1]
            stem = os.path.splitext(pattern)[0]
            names = [stem + (ending if "*" not in ending else ".png")]
            self.listed[folder] += names
            return names
        return matching

    def _make_names(self, folder: str, pattern: str) -> list[str]:
        """Return the names of the pictures in an absent folder, and tell of them."""
        data = self.find(folder)
        ending = os.path.splitext(pattern)[1]
        if "*" in ending or not ending:
            ending = ENDING
        if ending.lower() not in PICTURE_ENDINGS:
            words, count = f"{PICTURES} files `*{ending}`", PICTURES
        else:
            images = data.holds if data is not None else None
            count = images.count if isinstance(images, PictureFolder) else PICTURES
            shape = images.shape if isinstance(images, PictureFolder) else SHAPE
            words = f"{count:,} images of {' x '.join(map(str, shape))}"
        basis: Basis = "assumed" if data is None else "given"
        self.tell(f"`{_shorten_path(folder)}`", words, basis)
        return [f"{number:06}{ending}" for number in range(count)]

    def get_shape(self, path: Any) -> tuple[int, int, int]:
        """Return the channels, height and width of a picture that is not there.

        Without a word of the user's, pictures have two sizes: a program that takes
        pictures as they are meets both. A picture and its mask have the same.
        """
        for place in (path, os.path.dirname(os.fsdecode(path))):
            data = self.find(place)
            if data is not None and isinstance(data.holds, PictureFolder):
                return data.holds.shape
        channels, height, width = SHAPE
        stem = os.path.splitext(os.path.basename(os.fsdecode(path)))[0]
        digits = "".join(character for character in stem if character.isdigit())
        if digits and int(digits) % 3 == 2:
            height, width = width, height
        folder = os.path.basename(os.path.dirname(os.fsdecode(path))).lower()
        if any(word in folder for word in MASKS):
            channels = 1
        return channels, height, width


def _is_removed(path: Any) -> bool:
    """Return whether the program itself has removed a file or folder."""
    layer = find_layer()
    name = layer.path(path) if layer is not None else None
    return layer is not None and name is not None and layer.origin(name) is None


def _shorten_path(path: str) -> str:
    """Return a path as the program would write it."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here)


@contextmanager
def replace_path_questions(paths: AbsentPaths) -> Iterator[None]:
    """Answer questions about absent paths that are taken to be there."""
    with ExitStack() as stack:
        for owner, name in (
            (os.path, "exists"), (os.path, "isfile"), (os.path, "isdir"),
            (os.path, "lexists"), (pathlib.Path, "exists"), (pathlib.Path, "is_file"),
            (pathlib.Path, "is_dir"),
        ):  # fmt: skip
            if name in vars(owner):  # what is really there was kept before
                make = _make_question(paths, name)
                stack.enter_context(replace_attribute(owner, name, make))
        for owner, name, build in (
            (os, "listdir", _make_listdir), (os, "walk", _make_walk),
            (glob, "glob", _make_glob), (glob, "iglob", _make_iglob),
            (pathlib.Path, "glob", _make_path_glob),
            (pathlib.Path, "rglob", _make_path_glob),
            (pathlib.Path, "iterdir", _make_iterdir),
        ):  # fmt: skip
            stack.enter_context(
                replace_attribute(owner, name, _bind_paths(build, paths))
            )
        yield


def _bind_paths(
    make: Callable[[AbsentPaths, Any], Any], paths: AbsentPaths
) -> Callable[[Any], Any]:
    return lambda original: make(paths, original)


def _make_question(paths: AbsentPaths, name: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def ask(path: Any = ".", *args: Any, **kwargs: Any) -> bool:
            if original(path, *args, **kwargs):
                return True
            if not isinstance(path, str | bytes | os.PathLike):
                return False
            frame = sys._getframe(1)
            if not paths.is_taken(path):
                if not paths.is_absent(path):
                    return False
                if not paths.holds(frame.f_code.co_filename):
                    return False
                if paths.find(path) is None and not _is_needed(
                    frame.f_code, frame.f_lineno
                ):
                    return False
                paths.promised.add(os.path.abspath(os.fsdecode(path)))
            if name in ("isfile", "is_file"):
                return not paths.is_folder(path)
            if name in ("isdir", "is_dir"):
                ending = os.path.splitext(os.fsdecode(path))[1]
                return paths.is_folder(path) or not ending
            return True

        return ask

    return make


@cache
def _is_needed(code: CodeType, line: int) -> bool:
    """Return whether a program ends where what a line asks for is not there: by an
    `assert`, or by an error or an exit below `if not`.
    """
    text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            if _is_required(node.test, line):
                return True
        elif (
            isinstance(node, ast.If)
            and is_ending(node.body)
            and _is_required(ast.UnaryOp(ast.Not(), node.test), line)
        ):
            return True
    return False


def _is_required(test: ast.expr, line: int) -> bool:
    """Return whether a condition can hold only if what is asked on a line is true."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = test.operand
        if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
            return _is_required(inner.operand, line)
        if isinstance(inner, ast.BoolOp):  # not (a or b) is (not a) and (not b)
            parts = [ast.UnaryOp(ast.Not(), operand) for operand in inner.values]
            return any(_is_required(operand, line) for operand in parts)
        return False
    if isinstance(test, ast.BoolOp):
        return any(_is_required(operand, line) for operand in test.values)
    if isinstance(test, ast.Call):
        return test.lineno <= line <= (test.end_lineno or test.lineno)
    return False


def _can_list(paths: AbsentPaths, folder: Any, depth: int = 2) -> bool:
    """Return whether the program itself lists an absent folder, or one that is kept
    for data beside one that was listed.
    """
    if not paths.is_absent(folder):
        name = os.path.abspath(os.fsdecode(folder))
        beside = {os.path.dirname(listed) for listed in paths.listed}
        return os.path.dirname(name) in beside and (
            name in paths.listed or _is_placeholder(name)
        )
    if paths.is_taken(folder) or paths.find(folder) is not None:
        return True
    return paths.holds(sys._getframe(depth).f_code.co_filename)


def _make_listdir(paths: AbsentPaths, original: Any) -> Any:
    def listdir(path: Any = ".") -> Any:
        if isinstance(path, str | os.PathLike) and (
            _can_list(paths, path) or _is_filled_later(paths, path)
        ):
            return list(paths.list_names(path))
        return original(path)

    return listdir


def _is_placeholder(folder: str) -> bool:
    """Return whether a folder holds hidden files only, such as `.gitkeep`."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return False
    return bool(names) and all(file_name.startswith(".") for file_name in names)


def _is_filled_later(paths: AbsentPaths, folder: Any) -> bool:
    """Return whether a folder is kept for data that are not there: it holds nothing
    but hidden files, and the program ends where it finds nothing in it.
    """
    name = os.path.abspath(os.fsdecode(folder))
    if name in paths.listed:
        return True
    frame = sys._getframe(2)
    if not _is_placeholder(name) or not paths.holds(frame.f_code.co_filename):
        return False
    return _is_ended_by_nothing(frame.f_code, frame.f_lineno)


@cache
def _is_ended_by_nothing(code: CodeType, line: int) -> bool:
    """Return whether a program ends where the name that a line assigns is empty: by
    `if not self.ids: raise`, or an `assert` of its length.
    """
    text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    targets = {
        ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        for target in node.targets
    }
    return any(
        _find_required_name(node) in targets
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert | ast.If) and node.lineno > line
    )


def _find_required_name(node: ast.Assert | ast.If) -> str:
    """Return the name without whose items a program ends at a statement, or nothing."""
    test = node.test
    if isinstance(node, ast.If):
        if not is_ending(node.body):
            return ""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        elif not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)):
            return ""
    is_compared = isinstance(test, ast.Compare)
    if isinstance(test, ast.Compare):
        test = test.left
    if isinstance(test, ast.Call) and ast.unparse(test.func) == "len" and test.args:
        return ast.unparse(test.args[0])
    return "" if is_compared else ast.unparse(test)


def _make_walk(paths: AbsentPaths, original: Any) -> Any:
    def walk(top: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(top, str | os.PathLike) and _can_list(paths, top):
            return iter([(os.fspath(top), [], list(paths.list_names(top)))])
        return original(top, *args, **kwargs)

    return walk


def _find_in_absent(paths: AbsentPaths, pattern: str) -> list[str] | None:
    """Return what a pattern finds below an absent folder; None if it is there."""
    folder, name = os.path.split(pattern)
    while folder and glob.has_magic(folder):
        folder = os.path.dirname(folder)
    if not folder or not _can_list(paths, folder, 3):
        return None
    return [
        os.path.join(folder, file_name) for file_name in paths.list_names(folder, name)
    ]


def _make_glob(paths: AbsentPaths, original: Any) -> Any:
    def find(pathname: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(pathname, str) and glob.has_magic(pathname):
            paths_found = _find_in_absent(paths, pathname)
            if paths_found is not None:
                return paths_found
        return original(pathname, *args, **kwargs)

    return find


def _make_iglob(paths: AbsentPaths, original: Any) -> Any:
    def find(pathname: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(pathname, str) and glob.has_magic(pathname):
            paths_found = _find_in_absent(paths, pathname)
            if paths_found is not None:
                return iter(paths_found)
        return original(pathname, *args, **kwargs)

    return find


def _make_path_glob(paths: AbsentPaths, original: Any) -> Any:
    def find(self: Any, pattern: Any, *args: Any, **kwargs: Any) -> Any:
        if _can_list(paths, self):
            name = os.path.basename(os.fspath(pattern))
            return iter(
                [self / file_name for file_name in paths.list_names(self, name)]
            )
        return original(self, pattern, *args, **kwargs)

    return find


def _make_iterdir(paths: AbsentPaths, original: Any) -> Any:
    def iterate(self: Any) -> Any:
        if _can_list(paths, self):
            return iter([self / file_name for file_name in paths.list_names(self)])
        return original(self)

    return iterate
