"""What a target's expression names: objects of the user's file, built as written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from shapewright.inputs import target
from shapewright.inputs.errors import InputError, suggest_name
from shapewright.inputs.python_files import ProgramFolder, guard_program
from shapewright.inputs.target import Attribute, Call, Constant, Expression, Name

_NESTS = {"list": list, "tuple": tuple, "set": set}
_LONGEST_SIGNATURE = 160


@dataclass(frozen=True, slots=True)
class Lookup:
    """An evaluator of expressions over the names of one module.

    `place` is the module as the target names it (`model.py`), `text` the whole target.
    """

    module: ModuleType
    place: str
    text: str
    program: ProgramFolder

    def value(self, written: Expression) -> Any:
        """Return the object that an expression refers to."""
        match written:
            case Constant(value):
                return value
            case Name():
                return self._named(written)
            case Attribute():
                return self._attribute(written)
            case Call():
                return self._called(written)
        items = [self.value(item) for item in written.items]
        if written.kind == "dict":
            keys = [self.value(key) for key in written.keys]
            return dict(zip(keys, items, strict=True))
        return _NESTS[written.kind](items)

    def _named(self, name: Name) -> Any:
        missing = object()
        value = getattr(self.module, name.name, missing)
        if value is missing and name.name == "torch":
            value = sys.modules.get("torch", missing)
        if value is missing:
            hint = suggest_name(name.name, _list_public(self.module))
            raise InputError(
                f"`{self.place}` does not define `{name.name}`{hint}"
                f" ({_describe_definitions(self.module)})",
                self.text,
                name.position,
            )
        return value

    def _attribute(self, written: Attribute) -> Any:
        owner = self.value(written.of)
        if isinstance(owner, type) and _is_instance_method(owner, written.name):
            owner = self.built(owner, written.of)
        with guard_program(
            self.program, f"reading `{target.format_expression(written)}`"
        ):
            try:
                return getattr(owner, written.name)
            except AttributeError:
                if inspect.getattr_static(owner, written.name, None) is not None:
                    raise  # its own code raised it
        hint = suggest_name(written.name, [n for n in dir(owner) if n[0] != "_"])
        raise InputError(
            f"`{target.format_expression(written.of)}` has no `{written.name}`{hint}",
            self.text,
            written.position,
        )

    def _called(self, written: Call) -> Any:
        called = self.value(written.of)
        args = [self.value(arg) for arg in written.args]
        kwargs = {name: self.value(value) for name, value in written.kwargs}
        expression = target.format_expression(written)
        if not callable(called):
            kind = type(called).__name__
            of = target.format_expression(written.of)
            raise InputError(
                f"`{of}` is of type {kind} and cannot be called",
                self.text,
                written.position,
            )
        try:
            signature = find_signature(called)
            if signature is not None:
                signature.bind(*args, **kwargs)
        except TypeError as error:
            accepts = describe_call(target.format_expression(written.of), called)
            raise InputError(
                f"`{expression}` does not fit {accepts}: {error}",
                self.text,
                written.position,
            ) from None
        with guard_program(self.program, f"building `{expression}`"):
            return called(*args, **kwargs)

    def built(self, built_class: type, written: Expression) -> Any:
        """Return an instance of a class that the target names without parentheses."""
        name = target.format_expression(written)
        needed = find_required(built_class)
        if needed:
            missing = ", ".join(f"`{parameter}`" for parameter in needed)
            values = ", ".join(f"{parameter}=..." for parameter in needed)
            start = self.text[: self.text.index(":") + 1]
            raise InputError(
                f"`{name}` needs {missing}; it is {describe_call(name, built_class)};"
                f" write `{start}{name}({values})`"
            )
        with guard_program(self.program, f"building `{name}()`"):
            return built_class()


def _is_instance_method(owner: type, name: str) -> bool:
    """Return whether a class attribute is a method to be called on an instance."""
    return isinstance(inspect.getattr_static(owner, name, None), FunctionType)


def find_signature(called: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a callable, or None if it is not known."""
    try:
        return inspect.signature(called)
    except (ValueError, TypeError):
        return None


def find_required(called: Callable[..., Any]) -> list[str]:
    """Return the names of a callable's required arguments."""
    signature = find_signature(called)
    if signature is None:
        return []
    return [
        name
        for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def describe_call(name: str, called: Callable[..., Any]) -> str:
    """Format the signature of a callable: ``Net(hidden: int, depth: int = 2)``."""
    signature = find_signature(called)
    if signature is None:
        return f"{name}(...)"
    text = str(signature.replace(return_annotation=inspect.Signature.empty))
    if len(text) > _LONGEST_SIGNATURE:
        text = text[:_LONGEST_SIGNATURE].rpartition(",")[0] + ", ...)"
    return f"`{name}{text}`"


def _describe_definitions(module: ModuleType) -> str:
    """Describe what a file defines: modules first, then other classes and functions."""
    own = [
        (name, value)
        for name, value in vars(module).items()
        if not name.startswith("_") and _is_defined_here(value, module)
    ]
    groups: dict[str, list[str]] = {"modules": [], "classes": [], "functions": []}
    for name, value in own:
        groups[_get_group(value)].append(f"`{name}`")
    parts = [
        f"{group} {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"
        for group, names in groups.items()
        if names
    ]
    return "it defines " + "; ".join(parts) if parts else "it defines nothing to call"


def _list_public(module: ModuleType) -> list[str]:
    return [name for name in vars(module) if not name.startswith("_")]


def _is_defined_here(value: Any, module: ModuleType) -> bool:
    if isinstance(value, type | FunctionType):
        return value.__module__ == module.__name__
    return is_module(value)


def _get_group(value: Any) -> str:
    torch = sys.modules.get("torch")
    if isinstance(value, type):
        derived = torch is not None and issubclass(value, torch.nn.Module)
        return "modules" if derived else "classes"
    return "modules" if is_module(value) else "functions"


def is_module(value: Any) -> bool:
    """Return whether an object is an `nn.Module`, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)
