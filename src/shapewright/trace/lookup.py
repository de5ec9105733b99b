"""Finding a module call or an op by what the user calls it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from shapewright.trace.module import ModuleCall, State
from shapewright.trace.op import Op


class NotInTrace(KeyError):
    """What was asked for is not in the record; the message says what is."""

    def __str__(self) -> str:
        return str(self.args[0])


def find_module(
    calls: Sequence[ModuleCall], states: Sequence[State], path: str, call: int
) -> ModuleCall:
    """The `call`-th call of the module at `path`; `NotInTrace` when there is none."""
    of_path = [made for made in calls if made.path == path]
    for made in of_path:
        if made.call == call:
            return made
    if of_path:
        times = "once" if len(of_path) == 1 else f"{len(of_path)} times"
        raise NotInTrace(f"`{path}` was called {times}: there is no call {call}")
    raise NotInTrace(_no_module(calls, states, path))


def _no_module(calls: Sequence[ModuleCall], states: Sequence[State], path: str) -> str:
    known = list(dict.fromkeys(made.path for made in calls if made.path))
    inside = [name for name in known if name.startswith(f"{path}.")]
    if inside:
        few = _listed(inside)
        return f"`{path}` itself was not called; inside it were {few}"
    if any(state.path.startswith(f"{path}.") for state in states):
        return f"`{path}` was not called in this run"
    close = get_close_matches(path, known, n=3, cutoff=0.5)
    if close:
        return f"no module `{path}` was called; close: {_listed(close)}"
    if not known:
        return f"no module `{path}` was called; the run called no submodule"
    return f"no module `{path}` was called; the run called {_listed(known)}"


def find_modules(calls: Iterable[ModuleCall], pattern: str) -> tuple[ModuleCall, ...]:
    """All calls whose path matches a shell-style pattern, in the order of the run."""
    return tuple(made for made in calls if fnmatchcase(made.path, pattern))


def find_op(ops: Iterable[Op], name: str | int, module: str | None, nth: int) -> Op:
    """The op with index `name`, or the `nth` of that name, in matching modules."""
    if isinstance(name, int):
        return _numbered(ops, name)
    seen = 0
    names: dict[str, None] = {}
    for op in ops:
        if module is not None and not fnmatchcase(op.module, module):
            continue
        names[op.name] = None
        if name in (op.name, short_name(op.name)):
            seen += 1
            if seen == nth:
                return op
    raise NotInTrace(_no_op(list(names), name, module, seen))


def _numbered(ops: Iterable[Op], index: int) -> Op:
    last = -1
    for op in ops:
        if op.index == index:
            return op
        last = op.index
    raise NotInTrace(f"no op {index}: the trace has ops 0 to {last}")


def _no_op(names: list[str], name: str, module: str | None, seen: int) -> str:
    where = "" if module is None else f" in modules `{module}`"
    if seen:
        times = "once" if seen == 1 else f"{seen} times"
        return f"`{name}` ran {times}{where}"
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    rest = f"; close: {_listed(close)}" if close else f"; ran: {_listed(names)}"
    return f"no op `{name}` ran{where}{rest if names else ''}"


def ops_of_line(ops: Iterable[Op], line: int, file: str | None) -> tuple[Op, ...]:
    """The ops whose expression touches `line`, of files that end in `file`."""
    return tuple(
        op
        for op in ops
        if op.span is not None
        and op.span.line <= line <= op.span.end_line
        and (file is None or _same_file(op.span.file, file))
    )


def short_name(name: str) -> str:
    """`linear` for `F.linear`; a name without a dot is itself."""
    return name.rpartition(".")[2] or name


def _same_file(recorded: str, asked: str) -> bool:
    recorded, asked = recorded.replace("\\", "/"), asked.replace("\\", "/")
    return recorded == asked or recorded.endswith(f"/{asked}")


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown
