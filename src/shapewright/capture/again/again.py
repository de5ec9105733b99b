"""The call that ended a real run, run again without data."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from types import CodeType, MethodType
from typing import Any

from torch import nn

from shapewright.capture.again.guards import Guards, Refused
from shapewright.capture.again.owners import Owner
from shapewright.capture.again.rewriting import PREFIX, Unsafe, compiled
from shapewright.capture.again.standing import Standing
from shapewright.capture.running import Settings, record
from shapewright.capture.taking import take
from shapewright.rules.needs.failure import Failure
from shapewright.source.expressions import Text
from shapewright.source.span import Span
from shapewright.trace.record import Trace

Maker = Callable[[], nn.Module]
"""Makes a layer, inside a run."""


@dataclass(slots=True)
class Run:
    """What came of running a call again. `own`: it needs the program's own code."""

    trace: Trace | None = None
    failures: tuple[Failure, ...] = ()
    own: bool = False


@dataclass(slots=True)
class Again:
    """An expression and what its names stood for when it failed.

    `text` has it, where it is the program's own and not torch's. `at` is where its
    calls stand when it runs, `told` the place of the program that is told. `known` are
    values by the dump of the expressions that gave them, `names` values that it reads.
    """

    standing: Standing
    owner: Owner
    file: str
    text: Text | None
    node: ast.AST
    at: Span
    told: Span
    known: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self,
        text: Text | None = None,
        every: bool = False,
        quick: bool = False,
        layers: Mapping[str, Maker] | None = None,
    ) -> Run:
        """Run it, or what stands in its place in a changed text.

        With `every` the program's own code runs too. `layers` are made anew, by path.
        """
        node: ast.AST | None = self.node
        parent: ast.AST | None = None
        if self.text is not None:
            at = text or self.text
            node = at.along(self.text.way(self.node))
            parent = at.parents.get(id(node))
        guards = Guards(every, self.above, partial(changed, self.owner, layers or {}))
        numbered = {dump: f"{PREFIX}{n}" for n, dump in enumerate(self.known)}
        try:
            if node is None:
                return Run()
            code, read = compiled(node, parent, self.file, numbered, self.class_name())
            frame = self.standing.frame
            names = {**frame.f_globals, **frame.f_locals, **self.names}
            names |= guards.names()
            names |= {numbered[dump]: value for dump, value in self.known.items()}
            for name in read & names.keys():
                guards.known(name, names[name])
        except (Unsafe, Refused, SyntaxError, ValueError):
            return Run()
        run = self.recorded(code, names, quick)
        refused = guards.refused
        return run if refused is None else Run(own=refused.own)

    def recorded(self, code: CodeType, names: dict[str, Any], quick: bool) -> Run:
        """One run of the engine over the code."""
        owner = self.owner

        def call(self: Any) -> Any:
            return eval(code, names)

        target: Any = MethodType(call, owner.root or self)
        taken = replace(take(target, (), {}), modules=owner.modules)
        settings = Settings(taken=taken, go_on=True, quick=quick, heeds=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the real run has given them
            trace = record(target, (), {}, settings)
        return Run(trace, tuple(settings.failures))

    def class_name(self) -> str:
        """The class around the function, for its private names."""
        parts = self.standing.code.co_qualname.split(".")
        return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""

    def above(self) -> Any:
        """`super()` as the method means it."""
        kind = self.standing.frame.f_locals.get("__class__")
        if kind is None:
            raise Refused("calls super()", own=True)
        return super(kind, self.standing.first)


def changed(owner: Owner, layers: Mapping[str, Maker], module: nn.Module) -> nn.Module:
    """The module, or a copy of it in which some layers are others."""
    path = owner.path_of(module)
    for each, make in layers.items():
        if each == path:
            return make()
        if path is not None and each.startswith(f"{path}." if path else ""):
            module = replaced(module, each[len(path) :].strip(".").split("."), make)
    return module


def replaced(module: nn.Module, names: list[str], make: Maker) -> nn.Module:
    """A copy of a module, of its own only along the way to one layer inside it."""
    made, children = copy(module), dict(module._modules)
    inner = children[names[0]]
    assert inner is not None
    children[names[0]] = replaced(inner, names[1:], make) if names[1:] else make()
    made.__dict__["_modules"] = children
    return made
