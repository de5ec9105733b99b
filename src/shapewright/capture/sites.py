"""Where in the user's program a call stands: cheap while it runs, spans when read."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import torch

TORCH = f"{Path(torch.__file__).parent}{os.sep}"  # not torchvision
OURS = f"{Path(__file__).parents[1]}{os.sep}"
STDLIB = sysconfig.get_paths()["stdlib"]
SITE_PACKAGES = tuple({sysconfig.get_paths()[k] for k in ("purelib", "platlib")})

INSTALLED = ("site-packages", "dist-packages")

SKIP, USER, BOUNDARY = range(3)

Site = tuple[tuple[CodeType, int], ...]
"""Code objects and instruction offsets of the user's frames, innermost first."""


def classify(filename: str) -> int:
    """Whether a frame of this file is the user's: not torch's, ours or Python's."""
    if filename.startswith((TORCH, OURS)):
        return SKIP
    if filename.startswith(STDLIB) and not filename.startswith(SITE_PACKAGES):
        return SKIP
    if filename.startswith("<frozen") or filename == "<string>":
        return SKIP
    return USER


@cache
def is_installed(filename: str) -> bool:
    """Whether a file is of an installed library, not of the program."""
    return filename.startswith(SITE_PACKAGES) or any(
        each in filename for each in INSTALLED
    )


class Sites:
    """Walks the stack from a torch call up to the module call that it runs in.

    Code objects are looked up by `id`: their hash reads all their bytecode each time.
    """

    __slots__ = ("codes", "kinds")

    def __init__(self) -> None:
        self.kinds: dict[int, int] = {}
        self.codes: list[CodeType] = []  # kept alive, so that an id names one code

    def bound(self, code: CodeType) -> None:
        """Frames of this code end the walk: the module call knows its own site."""
        self.codes.append(code)
        self.kinds[id(code)] = BOUNDARY

    def kind_of(self, code: CodeType) -> int:
        """Whether frames of this code are the user's."""
        kind = self.kinds.get(id(code))
        if kind is None:
            self.codes.append(code)
            kind = self.kinds[id(code)] = classify(code.co_filename)
        return kind

    def here(self) -> Site:
        """The user's frames between the running call and its module call."""
        frame: FrameType | None = sys._getframe(2)
        get = self.kinds.get
        found: Site = ()
        while frame is not None:
            code = frame.f_code
            kind = get(id(code))
            if kind is None:
                kind = self.kind_of(code)
            if kind == USER:
                found += ((code, frame.f_lasti),)
            elif kind == BOUNDARY:
                break
            frame = frame.f_back
        return found
