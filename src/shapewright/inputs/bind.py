"""Whether a spec fits the signature that it is for, before anything runs."""

from __future__ import annotations

import inspect
from typing import NoReturn

from shapewright.inputs.errors import InputError, did_you_mean
from shapewright.inputs.loaded import Loaded
from shapewright.inputs.lookup import signature_of
from shapewright.inputs.spec import Spec

_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_BY_NAME = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def parameters_of(loaded: Loaded) -> dict[str, inspect.Parameter] | None:
    """The parameters that the inputs meet, `self` left out; None if unknown."""
    called = loaded.callable
    if loaded.module is loaded.callable:
        called = loaded.module.forward
        if getattr(called, "__func__", None) is _unimplemented():
            return None
    signature = signature_of(called)
    return None if signature is None else dict(signature.parameters)


def bind(loaded: Loaded, spec: Spec) -> None:
    """Raise `InputError`, pointing into the spec, where it cannot fit the target.

    Example: ``f32[1, 3], f32[1, 3]`` for a ``forward(self, x)`` is refused with
    "`Net.forward` takes 1 input (x), the spec gives 2".
    """
    parameters = parameters_of(loaded)
    if parameters is None:
        return
    _too_many(loaded, spec, parameters)
    _by_name(loaded, spec, parameters)
    given = set(list(_positional(parameters))[: len(spec.args)]) | set(spec.kwargs)
    missing = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (*_BY_POSITION, inspect.Parameter.KEYWORD_ONLY)
        and name not in given
    ]
    if missing:
        also = "also needs" if given else "needs"
        names = ", ".join(f"`{name}`" for name in missing)
        raise InputError(
            f"`{loaded.said}` {also} {names}; it takes {takes(parameters)}",
            spec.text,
            len(spec.text),
        )


def _too_many(
    loaded: Loaded, spec: Spec, parameters: dict[str, inspect.Parameter]
) -> None:
    kinds = {parameter.kind for parameter in parameters.values()}
    most = len(_positional(parameters))
    if inspect.Parameter.VAR_POSITIONAL in kinds or len(spec.args) <= most:
        return
    inputs = "no input" if most == 0 else f"{most} input{'s' if most > 1 else ''}"
    unnamed = "" if len(_positional(parameters)) == len(parameters) else " by position"
    sizes = all(type(value) is int for value in spec.args)
    tensor = f"; a tensor of these sizes is `f32[{spec.text.strip()}]`" if sizes else ""
    raise InputError(
        f"`{loaded.said}` takes {inputs}{unnamed} {takes(parameters)},"
        f" the spec gives {len(spec.args)}{tensor}",
        spec.text,
        spec.positions[most],
    )


def _by_name(
    loaded: Loaded, spec: Spec, parameters: dict[str, inspect.Parameter]
) -> None:
    positional = list(_positional(parameters))
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in spec.kwargs:
        if name in positional[: len(spec.args)]:
            message = f"`{name}` is already given by position"
            raise InputError(message, spec.text, spec.positions[name])
        known = [key for key, value in parameters.items() if value.kind in _BY_NAME]
        if name not in known and not open_ended:
            _unknown(loaded, spec, name, known, parameters)


def _unknown(
    loaded: Loaded,
    spec: Spec,
    name: str,
    known: list[str],
    parameters: dict[str, inspect.Parameter],
) -> NoReturn:
    hint = did_you_mean(name, known)
    raise InputError(
        f"`{loaded.said}` has no input `{name}`{hint}"
        f"{'' if hint else ';'} it takes {takes(parameters)}",
        spec.text,
        spec.positions[name],
    )


def _positional(
    parameters: dict[str, inspect.Parameter],
) -> dict[str, inspect.Parameter]:
    return {n: p for n, p in parameters.items() if p.kind in _BY_POSITION}


def takes(parameters: dict[str, inspect.Parameter]) -> str:
    """Parameters as text, without annotations: ``(x, mask=None, *, scale=1.0)``."""
    bare = [p.replace(annotation=p.empty) for p in parameters.values()]
    text = str(inspect.Signature(bare))
    return text if len(text) <= 160 else text[:160].rpartition(",")[0] + ", ...)"


def _unimplemented() -> object:
    import torch

    return torch.nn.Module.forward
