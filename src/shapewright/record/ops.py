"""The parts of a trace: tensor facts, ops, module calls, assumptions and source files,
and how to find ops and calls by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import prod
from typing import Any, Literal, TypeVar, overload

from shapewright.program.spans import Frame, Span

ITEMSIZE = {
    "bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4,
    "int32": 4, "uint64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4,
    "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "quint8": 1, "qint8": 1, "qint32": 4,
}  # fmt: skip
"""Bytes of one element, by dtype name."""

CONSTANT_NOTE = "constant at "
"""How the note on a number begins that a trace keeps: ``constant at net.py:22``."""

NOT_RECORDED = "not recorded"
"""How a note begins on a call at which Shapewright failed itself: torch ran it."""

SHORT = {
    "bool": "bool", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16",
    "uint32": "u32", "int32": "i32", "uint64": "u64", "int64": "i64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex32": "c32", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
"""Short dtype names in specs and tables."""


@dataclass(frozen=True, slots=True)
class Fact:
    """The metadata of a tensor: its shape, dtype and more, never its data.

    Example: ``conv1``'s output in LeNet at batch 1024 is
    ``Fact((1024, 6, 28, 28), "float32", (4704, 784, 28, 1))``.

    `stride` is None where the layout has none (sparse, nested). `tensor` and
    `storage` are numbers given at first sight in this run; two facts with the same
    `storage` share memory. `unknown` says in words what could not be known.
    """

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] | None
    device: str = "cpu"
    storage_offset: int = 0
    layout: str = "strided"
    requires_grad: bool = False
    is_leaf: bool = True
    grad_fn: str | None = None
    grad_shape: tuple[int, ...] | None = None
    version: int = 0
    tensor: int = 0
    storage: int = 0
    unknown: str | None = None

    @property
    def ndim(self) -> int:
        """Return the number of dims."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Return the size of the elements in bytes, as if they were contiguous."""
        return self.numel * ITEMSIZE.get(self.dtype, 1)

    @property
    def short_dtype(self) -> str:
        """Return the short name of the dtype: `f32` for `float32`."""
        return SHORT.get(self.dtype, self.dtype)

    def __str__(self) -> str:
        return f"{self.short_dtype}[{', '.join(map(str, self.shape))}]"

    __repr__ = __str__


Kind = Literal["new", "view", "copy", "inplace", "same", "read", "opaque"]
"""new: computed into new storage. view: shares an input's storage. copy: an op that may
alias (reshape, contiguous, to) but here wrote new storage. inplace: wrote an input.
same: returned its input itself. read: gave Python a value or a size. opaque: seen only
from outside (scripted code)."""


@dataclass(frozen=True, slots=True, repr=False)
class Op:
    """A tensor call as the user wrote it.

    Example: ``F.relu(self.fc1(x))`` makes two ops, ``F.linear`` in module ``fc1`` and
    ``F.relu`` in the root module, both with a span on that line.

    `arguments` are the non-tensor arguments as (name, value): the name of a keyword,
    else its position as text ("0" is the first argument of the call); values are plain
    Python values or their text. `inputs` are the tensors in the order of the call,
    those in lists included. `places` says where each of them stands in the call ("0",
    "1.0" in a list, "index" by keyword); empty where they fill, in order, the positions
    that `arguments` leave free. `function` is torch's own function, where `name` does
    not tell: `-` is ``torch.Tensor.__rsub__`` in ``1 - x``. `view_of` is the `tensor`
    number of the input whose storage it shares. `flops` counts a multiply-add as 2, by
    torch's own formulas; None means not counted (torch has no formula for it;
    elementwise work is not counted by them). `bytes_read` and `bytes_written` are 0 for
    a view. `frames` are the user's frames, outermost first; `span` is the innermost of
    them that belongs to the user.
    """

    index: int
    name: str
    inputs: tuple[Fact, ...]
    outputs: tuple[Fact, ...]
    arguments: tuple[tuple[str, Any], ...]
    kind: Kind
    view_of: int | None
    span: Span | None
    frames: tuple[Frame, ...]
    module: str
    call: int
    flops: int | None
    bytes_read: int
    bytes_written: int
    notes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    function: str = ""

    @property
    def output(self) -> Fact:
        """Return the only output; raise `ValueError` if it has none or several."""
        return _get_only(self.outputs, f"op {self.index}, {self.name},", "outputs")

    @property
    def reduction(self) -> Any:
        """Return how a loss reduces: its `reduction`, or what the older `size_average`
        and `reduce` ask for.
        """
        words = dict(self.arguments)
        if words.get("reduce") is False:
            return "none"
        if words.get("size_average") is not None or words.get("reduce") is not None:
            return "sum" if words.get("size_average") is False else "mean"
        return words.get("reduction", "mean")

    def __repr__(self) -> str:
        place = f" at {self.span.file}:{self.span.line}" if self.span else ""
        module = f" in `{self.module}`" if self.module else ""
        return (
            f"<op {self.index}: {self.name} {_describe_flow(self.inputs, self.outputs)}"
            f"{module}{place}>"
        )


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """A parameter or buffer of a module.

    `path` is its full name (`layer1.0.conv1.weight`). `tied` is the full name of the
    first place where the same tensor stands, or None; tied ones count once.
    `saved` is False for a buffer registered with `persistent=False`.
    """

    path: str
    fact: Fact
    buffer: bool = False
    saved: bool = True
    tied: str | None = None

    def __repr__(self) -> str:
        return f"<{'buffer' if self.buffer else 'parameter'} {self.path}: {self.fact}>"


@dataclass(frozen=True, slots=True, repr=False)
class ModuleCall:
    """A call of a module; a module called twice has two.

    `index` is its place in `Trace.calls`, in the order in which calls began; index 0
    is the root. `call` counts the calls of the same module from 1. `inputs` is
    `(args, kwargs)` and `output` the nest that `forward` returned; leaves are facts,
    other values stand as they were (plain values) or as their text. `states` are the
    module's own parameters and buffers, those of its children not included. `ops` is
    the half-open range of `Trace.ops` that ran inside it, children included.
    """

    index: int
    path: str
    class_name: str
    call: int
    parent: int | None
    depth: int
    inputs: tuple[tuple[Any, ...], dict[str, Any]]
    output: Any
    states: tuple[State, ...]
    ops: tuple[int, int]
    span: Span | None
    method: str = "forward"
    notes: tuple[str, ...] = ()

    @property
    def input(self) -> Fact:
        """Return the only input; raise `ValueError` if it has none or several."""
        name = f"`{self.path or self.class_name}`"
        return _get_only(collect_leaves(self.inputs), name, "inputs")

    @property
    def parameters(self) -> int:
        """Return how many numbers the module's own parameters have.

        Those of its children are not included; `trace.rows()` includes them.
        """
        return sum(state.fact.numel for state in self.states if not state.buffer)

    def __repr__(self) -> str:
        name = self.path or self.class_name
        kind = f" ({self.class_name})" if self.path else ""
        again = f", call {self.call}" if self.call > 1 else ""
        return f"<{name}{kind}{again}: {_describe_flow(self.inputs, self.output)}>"


def _get_only(facts: Sequence[Fact], owner: str, name: str) -> Fact:
    """Return the one tensor that there is."""
    if len(facts) == 1:
        return facts[0]
    raise ValueError(f"{owner} has {len(facts)} {name}: see `{name}`")


def _describe_flow(inputs: Any, outputs: Any) -> str:
    """Return ``f32[8, 400] -> f32[8, 120]``."""
    into, out = (
        ", ".join(map(str, collect_leaves(nest))) for nest in (inputs, outputs)
    )
    return f"{into or 'no tensor'} -> {out or 'no tensor'}"


def collect_leaves(nest: Any) -> list[Fact]:
    """Return the facts in a nested structure of tuples, lists and dicts, in order."""
    if isinstance(nest, Fact):
        return [nest]
    if isinstance(nest, dict):
        return [fact for value in nest.values() for fact in collect_leaves(value)]
    if isinstance(nest, list | tuple):
        return [fact for value in nest for fact in collect_leaves(value)]
    return []


Basis = Literal["documented", "read", "given", "assumed"]
"""How it is known what stands for a thing that is not on this machine."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """An assumption of the run about data that was not available.

    Where something stood in for what is not on this machine, `stands_for` names it, the
    message says what stood there, and `basis` how that is known: `documented` by its
    authors, `read` from how the program uses it, `given` by the user, or `assumed`.
    """

    message: str
    span: Span | None = None
    count: int = 1
    stands_for: str = ""
    basis: Basis | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A source file of the program: its text at the time of the run, and its sha256."""

    file: str
    sha256: str
    text: str | None = None


class NotInTrace(KeyError):
    """Raised if the record lacks what was requested; the message lists what it has."""

    def __str__(self) -> str:
        return str(self.args[0])


def find_module(
    calls: Sequence[ModuleCall], states: Sequence[State], path: str, call: int
) -> ModuleCall:
    """Return the `call`-th call of the module at `path`, or raise `NotInTrace`."""
    of_path = [module_call for module_call in calls if module_call.path == path]
    for module_call in of_path:
        if module_call.call == call:
            return module_call
    if of_path:
        times = "once" if len(of_path) == 1 else f"{len(of_path)} times"
        raise NotInTrace(f"`{path}` was called {times}: there is no call {call}")
    raise NotInTrace(_describe_missing_module(calls, states, path))


def _describe_missing_module(
    calls: Sequence[ModuleCall], states: Sequence[State], path: str
) -> str:
    known = list(
        dict.fromkeys(module_call.path for module_call in calls if module_call.path)
    )
    inside = [name for name in known if name.startswith(f"{path}.")]
    if inside:
        few = _list_names(inside)
        return f"`{path}` itself was not called; inside it were {few}"
    if any(state.path.startswith(f"{path}.") for state in states):
        return f"`{path}` was not called in this run"
    close = get_close_matches(path, known, n=3, cutoff=0.5)
    if close:
        return f"no module `{path}` was called; close: {_list_names(close)}"
    if not known:
        return f"no module `{path}` was called; the run called no submodule"
    return f"no module `{path}` was called; the run called {_list_names(known)}"


def find_modules(calls: Iterable[ModuleCall], pattern: str) -> tuple[ModuleCall, ...]:
    """Return all calls whose path matches a shell-style pattern, in run order."""
    return tuple(
        module_call for module_call in calls if fnmatchcase(module_call.path, pattern)
    )


def find_op(ops: Iterable[Op], name: str | int, module: str | None, nth: int) -> Op:
    """Return the op with index `name`, or the `nth` op of that name in matching
    modules.
    """
    if isinstance(name, int):
        return _find_numbered(ops, name)
    seen = 0
    names: dict[str, None] = {}
    for op in ops:
        if module is not None and not fnmatchcase(op.module, module):
            continue
        names[op.name] = None
        if name in (op.name, shorten_name(op.name)):
            seen += 1
            if seen == nth:
                return op
    raise NotInTrace(_describe_missing_op(list(names), name, module, seen))


def _find_numbered(ops: Iterable[Op], index: int) -> Op:
    last = -1
    for op in ops:
        if op.index == index:
            return op
        last = op.index
    raise NotInTrace(f"no op {index}: the trace has ops 0 to {last}")


def _describe_missing_op(
    names: list[str], name: str, module: str | None, seen: int
) -> str:
    where = "" if module is None else f" in modules `{module}`"
    if seen:
        times = "once" if seen == 1 else f"{seen} times"
        return f"`{name}` ran {times}{where}"
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    rest = f"; close: {_list_names(close)}" if close else f"; ran: {_list_names(names)}"
    return f"no op `{name}` ran{where}{rest if names else ''}"


def find_ops_of_line(ops: Iterable[Op], line: int, file: str | None) -> tuple[Op, ...]:
    """Return the ops whose expression touches `line`, in files that end in `file`."""
    return tuple(
        op
        for op in ops
        if op.span is not None
        and op.span.line <= line <= op.span.end_line
        and (file is None or _is_same_file(op.span.file, file))
    )


def shorten_name(name: str) -> str:
    """Return the last part of a name: `linear` for `F.linear`."""
    return name.rpartition(".")[2] or name


def _is_same_file(recorded: str, asked: str) -> bool:
    recorded, asked = recorded.replace("\\", "/"), asked.replace("\\", "/")
    return recorded == asked or recorded.endswith(f"/{asked}")


def _list_names(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


Item = TypeVar("Item")


class Lazy(Sequence[Item]):
    """A sequence that is computed when first read."""

    __slots__ = ("_fold", "_items", "_length")

    def __init__(self, length: int, fold: Callable[[], Iterable[Item]]) -> None:
        self._length = length
        self._fold: Callable[[], Iterable[Item]] | None = fold
        self._items: Sequence[Item] = ()

    def read(self) -> Sequence[Item]:
        """Return the items, computing them on the first call."""
        if self._fold is not None:
            self._items = tuple(self._fold())
            self._fold = None
        return self._items

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        return self.read()[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.read())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return tuple(self.read()) == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.read()))

    def __repr__(self) -> str:
        return repr(self.read())
