"""Conversion of a run's events into the frozen record, done when it is read.

For a program without a loop over elements, the finding `python-loop` costs a single
pass over the events after the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from shapewright.engine.call_sites import Positions, Site, find_operator
from shapewright.engine.function_names import (
    get_display_name,
    get_dotted_name,
    get_long_name,
)
from shapewright.engine.identity import Info
from shapewright.engine.memo import (
    COPY,
    INPLACE,
    KINDS,
    NEW,
    READ,
    SAME,
    VIEW,
    Answer,
    find_places,
    get_arguments,
)
from shapewright.engine.module_calls import RunningCall
from shapewright.program.spans import Frame, Span, is_installed
from shapewright.record.ops import Fact, ModuleCall, Op, State


class Fold:
    """The conversion of a run's events: numbers become dense, versions are replayed."""

    def __init__(
        self,
        events: list[tuple[Any, ...]],
        calls: list[RunningCall],
        positions: Positions,
        states: list[Any],
        assumptions: dict[Any, str],
    ) -> None:
        self.events = events
        self.supposed = _map_suppositions(events, assumptions)
        self.calls = calls
        self.positions = positions
        self.tensors: dict[int, int] = {}
        self.storages: dict[int, int] = {}
        self.versions: dict[int, int] = {}
        self.facts: dict[tuple[int, int, int], Fact] = {}
        self.names: dict[Any, str] = {}
        self.functions: dict[tuple[Any, str], str] = {}
        self.chains: dict[int, tuple[Frame, ...]] = {}
        self.states = states
        self.own: dict[str, tuple[State, ...]] = {}

    def fact(self, info: Info) -> Fact:
        """Return the fact of a tensor at this point of the replay."""
        storage = info.storage.number
        version = self.versions.get(storage, 0)
        key = (id(info), version, info.number)
        fact = self.facts.get(key)
        if fact is None:
            meta = info.meta
            strided = meta.layout == "strided"
            fact = self.facts[key] = Fact(
                meta.shape,
                meta.dtype,
                meta.stride if strided or meta.layout == "functorch" else None,
                meta.device,
                meta.offset,
                meta.layout,
                meta.requires_grad,
                info.grad_fn is None,
                info.grad_fn,
                None,
                version,
                self.number_of(info.number),
                self.storages.setdefault(storage, len(self.storages) + 1),
                info.unsure or self.supposed.get(info.number)
                if strided
                else OPAQUE_WORDS.get(meta.layout, f"{meta.layout}: seen from outside"),
            )
        return fact

    def number_of(self, number: int) -> int:
        """Return the dense number in the record for a tensor's number in the run."""
        return self.tensors.setdefault(number, len(self.tensors) + 1)

    def last(self, nest: Any, writes: dict[int, int]) -> Any:
        """Return nested values as they were at the end of the run, after all writes."""
        self.versions = writes
        try:
            return self.nest(nest)
        finally:
            self.versions = {}

    def ops(self) -> list[Op]:
        """Return all ops in order."""
        self.versions = {}
        return [self.op(index, event) for index, event in enumerate(self.events)]

    def op(self, index: int, event: tuple[Any, ...]) -> Op:
        answer, ins, outs, site, number = event
        inputs = tuple([self.fact(info) for info in ins])
        if answer.kind == INPLACE:
            for info in outs[:1]:
                storage = info.storage.number
                self.versions[storage] = self.versions.get(storage, 0) + 1
        outputs = tuple([self.fact(info) for info in outs])
        call = self.calls[number] if self.calls else None
        frames = self.chain(site, call)
        shown = self.name(answer, site)
        moved = answer.kind not in (VIEW, SAME, READ)
        view_of = None
        if answer.kind == VIEW:
            shared = {fact.storage for fact in outputs}
            view_of = next((f.tensor for f in inputs if f.storage in shared), None)
        return Op(
            index,
            shown,
            inputs,
            outputs,
            get_arguments(answer),
            KINDS[answer.kind],  # type: ignore[arg-type]
            view_of,
            find_innermost(frames),
            frames,
            call.path if call else "",
            call.number if call else 1,
            answer.flops,
            sum(fact.nbytes for fact in inputs) if moved else 0,
            sum(fact.nbytes for fact in outputs) if moved else 0,
            answer.notes,
            find_places(answer, len(ins)),
            self.function(answer, shown),
        )

    def function(self, answer: Answer, shown: str) -> str:
        """Return the dotted name of torch's function, or "" if `shown` implies it."""
        if isinstance(answer.func, str):
            return ""
        key = (answer.func, shown)
        dotted_name = self.functions.get(key)
        if dotted_name is None:
            dotted = get_dotted_name(answer.func)
            dotted_name = self.functions[key] = (
                "" if get_long_name(shown) == dotted else dotted
            )
        return dotted_name

    def name(self, answer: Answer, site: Site) -> str:
        name = self.names.get(answer.func)
        if name is None:
            name = self.names[answer.func] = (
                answer.func
                if isinstance(answer.func, str)
                else get_display_name(answer.func)
            )
        return find_operator(site, name) if name.startswith("Tensor.") else name

    def chain(self, site: Site, call: RunningCall | None) -> tuple[Frame, ...]:
        """Return all user frames of a call, outermost first."""
        outer = self.outer(call)
        return outer + tuple(
            [self.positions.frame(code, offset) for code, offset in reversed(site)]
        )

    def place(self, site: Site, number: int) -> tuple[Span | None, str]:
        """Return the user's span and the module path of a call site."""
        call = self.calls[number] if self.calls else None
        return find_innermost(self.chain(site, call)), call.path if call else ""

    def outer(self, call: RunningCall | None) -> tuple[Frame, ...]:
        if call is None:
            return ()
        chain = self.chains.get(call.index)
        if chain is None:
            parent = self.calls[call.parent] if call.parent is not None else None
            chain = self.chains[call.index] = self.chain(call.site, parent)
        return chain

    def module_calls(self) -> list[ModuleCall]:
        """Return all module calls in the order in which they began."""
        if not self.own:
            self.all_states()
        return [self.module_call(call) for call in self.calls]

    def module_call(self, call: RunningCall) -> ModuleCall:
        frames = self.outer(call)
        args, kwargs = call.inputs
        return ModuleCall(
            call.index,
            call.path,
            call.name,
            call.number,
            call.parent,
            call.depth,
            (
                tuple(self.nest(v) for v in args),
                {k: self.nest(v) for k, v in kwargs.items()},
            ),
            self.nest(call.output),
            self.own.get(call.path, ()),
            (call.first, call.end),
            find_innermost(frames),
            call.method,
            call.notes,
        )

    def all_states(self) -> list[State]:
        """Return all parameters and buffers, a tied tensor also by its first name."""
        first: dict[int, str] = {}
        own: dict[str, list[State]] = {}
        every = []
        for path, name, info, identity, buffer, saved, grad in self.states:
            full = f"{path}.{name}" if path else name
            tied = first.setdefault(identity, full)
            fact = self.fact(info)
            fact = replace(fact, grad_shape=grad) if grad is not None else fact
            state = State(full, fact, buffer, saved, None if tied == full else tied)
            own.setdefault(path, []).append(state)
            every.append(state)
        self.own = {path: tuple(group) for path, group in own.items()}
        return every

    def nest(self, value: Any) -> Any:
        """Return nested values with their infos replaced by facts."""
        if isinstance(value, Info):
            return self.fact(value)
        if isinstance(value, dict):
            return {key: self.nest(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.nest(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self.nest(item) for item in value)
        return value


def _map_suppositions(
    events: list[tuple[Any, ...]], at: dict[Any, str]
) -> dict[int, str]:
    """Map the number of each tensor whose shape rests on an assumption to its text.

    Start at the outputs of the call that assumed, with their first size if none of its
    inputs has it; follow outputs made from these that have any of these sizes.
    """
    words: dict[int, str] = {}
    sizes: dict[int, set[int]] = {}
    for answer, ins, outs, site, call in events if at else ():
        input_numbers = {info.number for info in ins}
        created = [info for info in outs if info.number not in input_numbers]
        if answer.kind in SUPPOSING and (site, call) in at:
            known = {size for info in ins for size in info.meta.shape}
            for info in created:
                words[info.number] = at[site, call]
                sizes[info.number] = set(info.meta.shape[:1]) - known
        for info in ins:
            carried = sizes.get(info.number)
            if not carried:
                continue
            for out in created:
                if out.number not in words and carried & set(out.meta.shape):
                    words[out.number] = words[info.number]
                    sizes[out.number] = carried
    return words


SUPPOSING = frozenset({NEW, VIEW, COPY})
OPAQUE_WORDS = {
    "functorch": "inside a transform of torch.func: its storage is not known",
    "nested": "nested tensor: its pieces differ in shape",
}


def find_innermost(frames: tuple[Frame, ...]) -> Span | None:
    """Return the innermost span of the user's code, not of an installed library."""
    for frame in reversed(frames):
        if not is_installed(frame.span.file):
            return frame.span
    return frames[-1].span if frames else None


GETITEM = torch.Tensor.__getitem__
SETITEM = torch.Tensor.__setitem__
UNBIND = torch.Tensor.unbind
INDEXING = frozenset({GETITEM, SETITEM, UNBIND, torch.unbind})

AT_LEAST = 8
"""Least number of different indices at one expression for a finding. Fewer steps cost
less than reading the note, and small examples are often written out."""


def find_stepped(events: list[tuple[Any, ...]], fold: Fold) -> tuple[Span, ...]:
    """Return the expressions that index tensors at `AT_LEAST` or more places."""
    indexed = [event for event in events if event[0].func in INDEXING]
    if len(indexed) < AT_LEAST and all(len(e[2]) < AT_LEAST for e in indexed):
        return ()
    reached: dict[tuple[int, int], set[Any]] = {}
    spans: dict[tuple[int, int], Span] = {}
    for answer, _, outs, site, number in indexed:
        if not site:
            continue
        place = (id(site[0][0]), site[0][1])
        if place in spans:
            continue
        where = _find_whole_numbers(answer)
        if where:
            places = reached.setdefault(place, set())
            places.add(where)
            many = len(places) >= AT_LEAST
        else:
            many = answer.func is UNBIND and len(outs) >= AT_LEAST
        if many:
            span, _ = fold.place(site, number)
            if span is not None:
                spans[place] = span
    return tuple(spans.values())


def _find_whole_numbers(answer: Any) -> tuple[tuple[int, int], ...]:
    """Return the integers among the indices of `x[...]`, with their positions."""
    operands = answer.arguments[0]
    if answer.func is UNBIND or len(operands) < 2:
        return ()
    items = operands[1] if type(operands[1]) is tuple else (operands[1],)
    return tuple([(n, item) for n, item in enumerate(items) if type(item) is int])
