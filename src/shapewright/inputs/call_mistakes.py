"""Mistakes in calls of `trace`, `check`, `solve` and `rehearse`.

A class for an instance, a path for a model, sizes for a tensor, torchinfo's
`input_size=`: each is refused with a sentence that shows the correct call.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from shapewright.inputs.callables import format_parameters
from shapewright.inputs.errors import InputError, suggest_name
from shapewright.inputs.target_names import find_required, find_signature

SIZE_KEYWORDS = ("input_size", "input_shape", "input_data", "input_sizes")
"""How other tools name the sizes of the inputs."""

TABLE_KEYWORDS = ("depth", "sort", "columns", "width")
"""Arguments of `Trace.table`."""

RUN_KEYWORDS = ("timeout", "by", "verify", "inside")
"""Arguments of `options`."""

_NO_TENSOR = re.compile(
    r"must be Tensor, not (?:tuple|list|torch\.Size)"
    r"|combination of arguments - got \((?:tuple|list|torch\.Size)\b.*\(Tensor input\b"
    r"|'(?:tuple|list|torch\.Size|Size)' object has no attribute '(?P<name>\w+)'",
    re.DOTALL,
)

LETTERED = ("solve", "formulas")
"""Commands that vary the letters of their inputs."""

Path = int | str
"""A place among the arguments of a call: its position, or its name."""


def refuse_target(command: str, target: Any) -> None:
    """Raise `InputError` for a target that is a class, a path or not callable.

    Example: ``sw.trace(Net, "f32[2, 8]")`` is refused with "`Net` is a class; pass an
    instance: `sw.trace(Net(), ...)`".
    """
    if isinstance(target, str | os.PathLike):
        shell = "trace" if command == "formulas" else command
        raise InputError(
            f"`sw.{command}` takes a model or a function, not the text"
            f" {os.fspath(target)!r}; import it and write `sw.{command}(Net(), ...)`,"
            f" or in a shell `shapewright {shell} {_format_shell_target(target)}`"
        )
    if _is_module_class(target):
        missing = ", ".join(f"{name}=..." for name in find_required(target))
        name = target.__name__
        raise InputError(
            f"`{name}` is a class; pass an instance:"
            f" `sw.{command}({name}({missing}), ...)`"
        )
    if not callable(target) and command != "rehearse":
        kind = type(target).__name__
        raise InputError(
            f"`sw.{command}` takes a model or a function first, got a `{kind}`; write"
            f' `sw.{command}(model, "f32[2, 3, 32, 32]")`'
        )


def _format_shell_target(text: Any) -> str:
    written = os.fspath(text)
    is_file = isinstance(written, str) and written.endswith(".py")
    return f"{written}:Net" if is_file else str(written)


def _is_module_class(target: Any) -> bool:
    torch = sys.modules.get("torch")
    derived = torch is not None and isinstance(target, type)
    return derived and issubclass(target, torch.nn.Module)  # type: ignore[union-attr]


def refuse_arguments(
    command: str, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Raise `InputError` for arguments that the target's signature does not accept.

    Example: ``sw.trace(net, input_size=(2, 8))`` is refused with "`Net.forward` has no
    argument `input_size`; write `sw.trace(model, "f32[2, 8]")`".
    """
    signature = _find_signature(target)
    if signature is None:
        return
    _refuse_keywords(command, target, kwargs, signature)
    if command in LETTERED and not any(isinstance(value, str) for value in args):
        sizes = _find_sizes(args, kwargs)
        if sizes and len(sizes) == len(args) + len(kwargs):
            raise InputError(
                "no input has a letter: write sizes that vary as letters, as in"
                f" `{_format_call(command, sizes)}`"
            )
    if len(args) < 2 or not all(_is_size(value) for value in args):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        parameters = format_parameters(dict(signature.parameters))
        raise InputError(
            f"`{_get_called_name(target)}` takes {parameters}, not {len(args)} numbers;"
            f" a tensor of these sizes is written"
            f" `{_format_call(command, {0: tuple(args)})}`"
        ) from None


def _refuse_keywords(
    command: str, target: Any, kwargs: Mapping[str, Any], signature: inspect.Signature
) -> None:
    parameters = dict(signature.parameters)
    if any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    ):
        return
    positional = inspect.Parameter.POSITIONAL_ONLY
    known = [
        name
        for name, parameter in parameters.items()
        if parameter.kind is not positional
    ]
    for name, value in kwargs.items():
        if name in known:
            continue
        message = f"`{_get_called_name(target)}` has no argument `{name}`"
        if name in SIZE_KEYWORDS:
            sizes = value if is_sizes(value) else (2, 3, 32, 32)
            raise InputError(f"{message}; write `{_format_call(command, {0: sizes})}`")
        if name in TABLE_KEYWORDS and command == "trace":
            raise InputError(
                f"{message}; what is shown is chosen afterwards: "
                f"`print(trace.table({name}=...))`"
            )
        if name in RUN_KEYWORDS:
            raise InputError(f"{message}; write `sw.options({name}=...).trace(...)`")
        hint = suggest_name(name, known)
        raise InputError(
            f"{message}{hint}{'' if hint else ';'} it takes"
            f" {format_parameters(parameters)}, and every keyword of"
            f" `sw.{command}` belongs to it"
        )


def _find_signature(target: Any) -> inspect.Signature | None:
    """Return the signature for the arguments, or None if hooks may change them."""
    torch = sys.modules.get("torch")
    target = getattr(target, "_orig_mod", target)  # torch.compile's wrapper
    if torch is None or not isinstance(target, torch.nn.Module):
        return find_signature(target)
    forward = target.forward
    if target._forward_pre_hooks or type(target).__call__ is not _get_plain_call():
        return None
    if getattr(forward, "__func__", None) is torch.nn.Module.forward:
        return None
    return find_signature(forward)


def _get_plain_call() -> object:
    import torch

    return torch.nn.Module.__call__


def _get_called_name(target: Any) -> str:
    """Return the name of a called object for messages, like `Net.forward` or `loss`."""
    target = getattr(target, "_orig_mod", target)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(target, torch.nn.Module):
        return f"{type(target).__name__}.forward"
    return getattr(target, "__name__", type(target).__name__)


# -- sizes where a tensor is meant ---------------------------------------------------


def refuse_sizes(
    command: str,
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    spec: str | None = None,
) -> None:
    """Raise `InputError` if a run failed because sizes were passed instead of a tensor.

    A program may well take a tuple of numbers, so sizes are refused only if the
    parameter is annotated as a tensor, or if the program comes further with tensors
    of these sizes, or past an error which says that a tuple is no tensor. `spec` is
    the text of the command line. The program must be running.
    """
    sizes = _find_sizes(args, kwargs)
    if not sizes:
        return
    meant = {path for path in sizes if is_tensor_parameter(target, path)}
    if not meant and _is_further(target, args, kwargs, sizes):
        meant = set(sizes)
    if not meant:
        return
    wrong = {path: value for path, value in sizes.items() if path in meant}
    path, first = next(iter(wrong.items()))
    written = (
        _format_call(command, wrong) if spec is None else f"-i {_format_specs(wrong)}"
    )
    name = f" for `{path}`" if isinstance(path, str) else ""
    raise InputError(
        f"`{_get_called_name(target)}` needs a tensor{name}, got the sizes"
        f" {tuple(first)}; a tensor of these sizes is written `{written}`"
    )


def is_further_with_tensors(target: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Return whether a program fails with sizes, and gets further with one tensor of
    these sizes instead.

    `args` are integers, or one tuple of them. The program must be running.
    """
    if not _run_plainly(target, args, {})[1]:
        return False
    sizes = args if is_sizes(args) and not is_sizes(args[0]) else args[0]
    return _is_further(target, args, {}, {0: sizes}, (tuple(sizes),))


def _is_further(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    sizes: Mapping[Path, Any],
    written: tuple[Any, ...] | None = None,
) -> bool:
    """Return whether a failed program gets further with tensors of these sizes.

    `written` are the arguments that hold the sizes, if `args` hold them otherwise.
    """
    count, error = _run_plainly(target, args, dict(kwargs))
    for kind in KINDS:
        others, other = _run_plainly(
            target, *_place_tensors(sizes, written or args, kwargs, kind)
        )
        past = other != error and others >= count and _is_about_tensors(error)
        if others > count or past:
            return True
    return False


def _run_plainly(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[int, str]:
    """Return how many calls of a run return tensors, and its final error message."""
    from shapewright.runtime.run import record_run
    from shapewright.runtime.run_record import RunRequest

    trace = record_run(target, args, kwargs, RunRequest()).trace
    last = trace.findings[-1] if trace.findings else None
    last_message = (
        f"{last.message} {last.torch_message or ''}" if last is not None else ""
    )
    return sum(1 for op in trace.ops if op.outputs), last_message


KINDS = ("float32", "int64")


def _is_size(value: Any) -> bool:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and int(value) >= 0


def is_sizes(value: Any) -> bool:
    """Return whether a value is a tuple or list of sizes, or of such sequences."""
    if not isinstance(value, tuple | list) or not value or hasattr(value, "_fields"):
        return False
    return all(map(_is_size, value)) or all(map(is_sizes, value))


def _find_sizes(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[Path, Any]:
    places: dict[Path, Any] = dict(enumerate(args))
    places.update(kwargs)
    return {path: value for path, value in places.items() if is_sizes(value)}


def _place_tensors(
    sizes: Mapping[Path, Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    kind: str,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with the sizes replaced by tensors without data."""
    import torch

    dtype = getattr(torch, kind)

    def tensors(value: Any) -> list[Any]:
        if not all(map(_is_size, value)):  # torchinfo's list of sizes, one an input
            return [tensor for item in value for tensor in tensors(item)]
        return [torch.empty(tuple(map(int, value)), dtype=dtype, device="meta")]

    positional: list[Any] = []
    for place, value in enumerate(args):
        positional += tensors(value) if place in sizes else [value]
    named = {n: tensors(v)[0] if n in sizes else v for n, v in kwargs.items()}
    return tuple(positional), named


def is_tensor_parameter(target: Any, path: Path) -> bool:
    """Return whether the parameter at a position or name is annotated as a tensor."""
    signature = _find_signature(target)
    if signature is None:
        return False
    parameters = list(signature.parameters.values())
    if isinstance(path, str):
        parameter = signature.parameters.get(path)
    else:
        parameter = parameters[path] if path < len(parameters) else None
    annotation = getattr(parameter, "annotation", None)
    torch = sys.modules.get("torch")
    if torch is not None and annotation is torch.Tensor:
        return True
    return annotation in ("Tensor", "torch.Tensor")


def _is_about_tensors(error: str) -> bool:
    """Return whether an error message reports a tuple where a tensor is needed."""
    match = _NO_TENSOR.search(error)
    if match is None or match["name"] is None:
        return match is not None
    import torch

    return hasattr(torch.Tensor, match["name"])


def _format_call(command: str, sizes: Mapping[Path, Any]) -> str:
    """Return a corrected call, like ``sw.trace(model, "f32[2, 3, 32, 32]")``."""
    letters = command in LETTERED
    return f"sw.{command}(model, {_format_specs(sizes, letters)})"


def _format_specs(sizes: Mapping[Path, Any], letters: bool = False) -> str:
    """Format sizes as specs of tensors; keyword arguments keep their names."""
    parts = []
    for path, value in sizes.items():
        flat = [value] if all(map(_is_size, value)) else list(value)
        for item in flat:
            numbers = [str(size) for size in item if _is_size(size)]
            if letters:
                names = ["B", "", "H", "W"] if len(numbers) == 4 else ["B"]
                numbers = [
                    names[n] if n < len(names) and names[n] else size
                    for n, size in enumerate(numbers)
                ]
            text = f'"f32[{", ".join(numbers)}]"'
            parts.append(f"{path}={text}" if isinstance(path, str) else text)
    return ", ".join(parts)
