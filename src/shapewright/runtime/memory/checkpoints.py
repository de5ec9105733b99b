"""Checkpoint modules for a run: what they compute is computed again in backward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial

from torch import nn
from torch.utils.checkpoint import checkpoint


class UnknownModule(ValueError):
    """Raised for a class or a path that no module of the model has."""


@contextmanager
def use_checkpoints(
    modules: Sequence[tuple[str, nn.Module]], names: Iterable[str]
) -> Iterator[None]:
    """Call every module of these classes, or at these paths, in a checkpoint.

    Example: ``use_checkpoints(list(model.named_modules()), ["Block"])``. A name may
    be a pattern of paths, as `layers.*`. Raises `UnknownModule`.
    """
    with ExitStack() as stack:
        for module in find_modules(modules, names):
            stack.enter_context(_use_checkpoint(module))
        yield


def find_modules(
    modules: Sequence[tuple[str, nn.Module]], names: Iterable[str]
) -> list[nn.Module]:
    """Return the modules of these classes or at these paths; raise `UnknownModule`."""
    chosen: list[nn.Module] = []
    for name in names:
        named = [module for path, module in modules if _is_named(name, path, module)]
        if not named:
            raise UnknownModule(_describe_unknown(name, modules))
        chosen += named
    return chosen


def _is_named(name: str, path: str, module: nn.Module) -> bool:
    return type(module).__name__ == name or (bool(path) and fnmatchcase(path, name))


def _describe_unknown(name: str, modules: Sequence[tuple[str, nn.Module]]) -> str:
    """Return that no module has this name, and which classes there are."""
    classes = list(
        dict.fromkeys(type(m).__name__ for _, m in modules if list(m.children()))
    )
    close = get_close_matches(name, classes, 1)
    known = ", ".join(classes) or "none with modules of its own"
    there = f"did you mean `{close[0]}`?" if close else f"there is {known}"
    return f"no module is a `{name}`; {there}"


@contextmanager
def _use_checkpoint(module: nn.Module) -> Iterator[None]:
    """Give a module a forward of its own that checkpoints the one that it has."""
    own = vars(module)
    had, before = "forward" in own, own.get("forward")
    own["forward"] = partial(checkpoint, module.forward, use_reentrant=False)
    try:
        yield
    finally:
        if had:
            own["forward"] = before
        else:
            own.pop("forward", None)
