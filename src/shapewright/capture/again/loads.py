"""A state dict that a real run could not load."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import CodeType
from typing import Any

from torch import nn

from shapewright.capture.again.guards import Guards, Refused
from shapewright.capture.again.rewriting import PREFIX, Unsafe, compiled
from shapewright.capture.again.standing import Stack
from shapewright.capture.again.ways import Place
from shapewright.capture.failing.loading import misloaded
from shapewright.capture.sites import TORCH
from shapewright.rules.needs.loading import Misloaded
from shapewright.source.expressions import Text

FILE = f"{TORCH}nn/modules/module.py"
GIVEN = f"{PREFIX}given"


@dataclass(frozen=True, slots=True)
class Load:
    """What `load_state_dict` was given, and for which module."""

    module: nn.Module
    given: Any
    refused: Misloaded

    def fits(self, place: Place, texts: dict[str, str]) -> bool:
        """Whether it fits as the call is written in a changed text."""
        text, node = place.text, place.node
        if text is None or not isinstance(node, ast.Call) or not node.args:
            return False
        new = Text(text.file, next(iter(texts.values()))).along(text.way(node))
        if not isinstance(new, ast.Call) or not new.args:
            return False
        words = {word.arg: word.value for word in new.keywords}
        strict = words.get("strict")
        strictly = not (isinstance(strict, ast.Constant) and strict.value is False)
        known = {ast.dump(node.args[0]): GIVEN}
        guards = Guards(False, refuse_above, lambda module: module)
        names = {GIVEN: self.given, **guards.names()}
        try:
            code: CodeType = compiled(new.args[0], new, text.file, known, "")[0]
            left = misloaded(self.module, eval(code, names), "")
        except (Unsafe, Refused, NameError):
            return False
        return left is None or not (strictly or left.resized)


def refuse_above() -> Any:
    """A state dict has no parent class."""
    raise Refused("calls super()")


def load_of(stack: Stack, error: BaseException) -> Load | None:
    """The load that raised an error, None where something else did."""
    last = stack.frames[-1]
    if last.file != FILE or last.code.co_name != "load_state_dict":
        return None
    held = last.frame.f_locals
    module, given = held.get("self"), held.get("state_dict")
    if not isinstance(module, nn.Module):
        return None
    found = misloaded(module, given, str(error))
    return None if found is None else Load(module, given, found)
