"""`load_state_dict` that refuses: noted, and the run goes on with what fits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from torch import nn

from shapewright.capture.replacement import resemble
from shapewright.capture.sites import SITE_PACKAGES, USER, Sites
from shapewright.rules.needs.loading import Misloaded


@dataclass(slots=True)
class Loads:
    """The loads of a run that torch refused, each with the line that asked for it."""

    sites: Sites = field(default_factory=Sites)
    refused: list[tuple[CodeType, int, Misloaded]] = field(default_factory=list)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """`nn.Module.load_state_dict` goes on with the keys that fit."""
        original = nn.Module.load_state_dict
        refuse = self.refuse

        def load_state_dict(
            self: nn.Module,
            state_dict: Any,
            strict: bool = True,
            assign: bool = False,
        ) -> Any:
            try:
                return original(self, state_dict, strict, assign)
            except RuntimeError as error:
                kept = refuse(self, state_dict, error, sys._getframe(1))
                if kept is None:
                    raise
                return original(self, kept, False, assign)

        nn.Module.load_state_dict = resemble(load_state_dict, original)  # type: ignore[method-assign]
        try:
            yield
        finally:
            if nn.Module.load_state_dict is load_state_dict:
                nn.Module.load_state_dict = original  # type: ignore[method-assign]

    def refuse(
        self, module: nn.Module, given: Any, error: Exception, frame: FrameType | None
    ) -> dict[str, Any] | None:
        """Note what does not fit; the keys that do, None where it is something else."""
        found = misloaded(module, given, str(error))
        frame = self.asking(frame)
        if frame is None or found is None:
            return None
        self.refused.append((frame.f_code, frame.f_lasti, found))
        bad = {key for key, _, _ in found.resized}
        return {key: value for key, value in given.items() if key not in bad}

    def asking(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the program's own, else of a library."""
        first: FrameType | None = None
        while frame is not None:
            if self.sites.kind_of(frame.f_code) == USER:
                if not frame.f_code.co_filename.startswith(SITE_PACKAGES):
                    return frame
                first = first or frame
            frame = frame.f_back
        return first


def misloaded(module: nn.Module, given: Any, message: str) -> Misloaded | None:
    """How the keys and shapes of a state dict differ from a module's, if they do."""
    try:
        own = module.state_dict()
        theirs = {key: tuple(value.shape) for key, value in dict(given).items()}
    except Exception:
        return None
    ours = {key: tuple(value.shape) for key, value in own.items()}
    resized = tuple(
        (key, shape, theirs[key])
        for key, shape in ours.items()
        if key in theirs and theirs[key] != shape
    )
    missing = tuple(key for key in ours if key not in theirs)
    unexpected = tuple(key for key in theirs if key not in ours)
    if not (resized or missing or unexpected):
        return None
    name = type(module).__name__
    return Misloaded(name, missing, unexpected, resized, len(ours), message)
