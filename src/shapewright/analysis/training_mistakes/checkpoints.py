"""Find trainings that are resumed without the state that their checkpoint holds.

The run shows that the checkpoint is saved; what a resumed run reads of it is read from
the text, as a first run has nothing to resume.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import STATE_NOT_RESUMED, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    OPTIMIZERS,
    get_called_name,
    get_last_line,
    get_last_name,
    iter_assignments,
    list_reads,
)
from shapewright.record.report import Moment

TRAINING = re.compile(r"opt(im)?|sched|scaler|ema|average|swa", re.IGNORECASE)
"""Names of what has a state that belongs to the training, not to the model."""
COUNTER = re.compile(r"epoch|step|iter|^it$", re.IGNORECASE)
READERS = ("get", "pop")


@dataclass(frozen=True, slots=True)
class _Saved:
    """A checkpoint that is saved: its keys, and the owner of each training's state."""

    call: ast.Call
    states: dict[str, str]


@looks_for(STATE_NOT_RESUMED)
def find_states_not_resumed(scene: RehearsalContext) -> Iterator[Finding]:
    """Find checkpoints whose optimizer is saved and never loaded."""
    saves = {
        (event.file, event.line)
        for event in _iter_kind(scene.rehearsal.story, "save")
        if event.line
    }
    texts = list(scene.program.own_texts())
    known = [text for text in texts if text is not None]
    for text in known:
        for saved in _iter_saved(text):
            lines = range(saved.call.lineno, get_last_line(saved.call) + 1)
            if not any((text.file, line) in saves for line in lines):
                continue
            lost = [key for key in saved.states if not _is_read(known, key)]
            if lost:
                yield from _report_lost(text, saved, lost)
    if not any(_has_state_of_training(text) for text in known):
        for text in known:
            yield from _find_models_alone(scene, text, saves)


RESUMING = re.compile(r"resum|continu|restart|restor", re.IGNORECASE)
"""Words of what goes on with a training that has begun."""


def _find_models_alone(
    scene: RehearsalContext, text: SourceText, saves: set[tuple[str, int]]
) -> Iterator[Finding]:
    """Find trainings that save the weights of a model at each turn, load them to go on,
    and begin again with an optimizer that has averages of its own.
    """
    optimizers = list(_iter_averaging(text))
    for call in text.nodes if optimizers else ():
        if not isinstance(call, ast.Call) or get_called_name(call) != "save":
            continue
        if (text.file, call.lineno) not in saves or len(call.args) < 2:
            continue
        path = text.written(call.args[1])
        load = _find_resuming(text, path)
        if get_called_name(call.args[0]) != "state_dict" or load is None:
            continue
        (target, kind), *_ = optimizers
        written = text.written(target)
        yield build_finding(
            STATE_NOT_RESUMED,
            "what is saved is the model alone: where it is loaded to go on,"
            f" `{written}` starts anew, without the averages of gradients that"
            f" `{kind}` keeps",
            text.span(load),
            (text.span(call), "it is saved here"),
        )


def _find_resuming(text: SourceText, path: str) -> ast.Call | None:
    """Return `model.load_state_dict(torch.load(path))` in a part of a program that
    resumes a training.
    """
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != "load_state_dict":
            continue
        loads = [
            inner
            for inner in ast.walk(call)
            if isinstance(inner, ast.Call) and get_called_name(inner) == "load"
        ]
        if not loads or not loads[0].args or text.written(loads[0].args[0]) != path:
            continue
        inside = [
            node
            for node in text.outwards(call)
            if isinstance(node, ast.If | ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        words = [
            text.written(node.test) if isinstance(node, ast.If) else node.name
            for node in inside
        ]
        words += [
            str(node.value)
            for outer in inside[:1]
            for node in ast.walk(outer)
            if isinstance(node, ast.Constant)
        ]
        if any(RESUMING.search(word) for word in words):
            return call
    return None


def _iter_averaging(text: SourceText) -> Iterator[tuple[ast.expr, str]]:
    """Yield the name and the kind of each optimizer that averages gradients."""
    for target, value in iter_assignments(text.tree):
        kind = get_called_name(value)
        words = {word.arg for word in getattr(value, "keywords", [])}
        if kind in OPTIMIZERS - {"SGD"} or (kind == "SGD" and "momentum" in words):
            yield target, kind


def _has_state_of_training(text: SourceText) -> bool:
    """Return whether a program reads or loads the state of an optimizer."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("state_dict", "load_state_dict")
        and TRAINING.search(get_last_name(node.value))
        for node in text.nodes
    )


def _iter_kind(moment: Moment, kind: str) -> Iterator[Moment]:
    """Yield the events of a kind within an event."""
    for event in moment.inner:
        if event.kind == kind:
            yield event
        yield from _iter_kind(event, kind)


def _iter_saved(text: SourceText) -> Iterator[_Saved]:
    """Yield the calls that save a dict of states."""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != "save":
            continue
        value = call.args[0] if call.args else None
        dicts = [value]
        if isinstance(value, ast.Name):
            dicts = list(find_defining(text, value.id))
        states: dict[str, str] = {}
        for node in dicts:
            for key, held in (*_list_entries(node), *_list_states(text, node)):
                owner = get_receiver(held) if isinstance(held, ast.Call) else None
                name = get_last_name(owner) if owner is not None else ""
                state = get_called_name(held) == "state_dict" and owner is not None
                if state and key and TRAINING.search(name):
                    states[key] = text.written(owner) if owner else ""
        if states:
            yield _Saved(call, states)


def _list_entries(node: ast.expr | None) -> list[tuple[str, ast.expr]]:
    """Return the entries of `{"model": x}` and of `dict(model=x)`."""
    if isinstance(node, ast.Dict):
        return [
            (str(key.value), value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
    if isinstance(node, ast.Call) and get_called_name(node) == "dict":
        return [(word.arg, word.value) for word in node.keywords if word.arg]
    return []


def _list_states(text: SourceText, node: ast.expr | None) -> list[tuple[str, ast.expr]]:
    """Return the entries that a loop makes of a dict of objects: `{name:
    part.state_dict() for name, part in parts.items()}`, alone or within a dict.
    """
    made_by_loops = [node] if isinstance(node, ast.DictComp) else []
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        made_by_loops = [
            value
            for key, value in pairs
            if key is None
            if isinstance(value, ast.DictComp)
        ]
    entries: list[tuple[str, ast.expr]] = []
    for comprehension in made_by_loops:
        held, over = comprehension.value, comprehension.generators[0].iter
        owner = get_receiver(over) if isinstance(over, ast.Call) else None
        if get_called_name(held) != "state_dict" or not isinstance(owner, ast.Name):
            continue
        for whole in find_defining(text, owner.id):
            for key, part in _list_entries(whole):
                state = ast.Attribute(part, "state_dict", ast.Load())
                entries.append((key, ast.Call(state, [], [])))
    return entries


def _is_read(texts: list[SourceText], key: str) -> bool:
    """Return whether a key occurs in the texts for more than to write it."""
    for text in texts:
        for node in text.nodes:
            if not isinstance(node, ast.Constant) or node.value != key:
                continue
            parent = text.parent(node)
            written = isinstance(parent, ast.Dict) or (
                isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store)
            )
            if not written:
                return True
    return False


def _report_lost(text: SourceText, saved: _Saved, lost: list[str]) -> Iterator[Finding]:
    """Yield the finding for a checkpoint that a resumed training reads in part."""
    for assign in text.nodes:
        if not isinstance(assign, ast.Assign) or len(assign.targets) != 1:
            continue
        target, value = assign.targets[0], assign.value
        if not isinstance(target, ast.Name) or get_called_name(value) != "load":
            continue
        scope = text.around(assign, ast.FunctionDef, ast.Module)
        uses = [
            use
            for use in list_reads(scope, target.id)
            if _find_key(text, use) is not None
            or not isinstance(text.statement_of(use), ast.Return)
        ]  # of what is returned no key is read elsewhere, or it would not be lost
        reads = [_find_key(text, use) for use in uses]
        if None in reads or not _is_resumed(text, uses):
            continue
        model = next((use for use in uses if _is_loaded(text, use)), None)
        if model is None:
            continue
        names = " and ".join(f"`{saved.states[key]}`" for key in lost)
        kept = " and ".join(f'`{target.id}["{key}"]`' for key in lost)
        yield build_finding(
            STATE_NOT_RESUMED,
            f"the checkpoint holds the state of {names}, and resuming never loads it:"
            f" {kept} is read nowhere, so {names} starts anew",
            text.span(text.statement_of(model)),
            (text.span(saved.call), "it is saved here"),
        )


def _find_key(text: SourceText, use: ast.Name) -> str | None:
    """Return the key that is read of a dict, or None if the dict is used as a whole."""
    parent = text.parent(use)
    key: ast.AST | None = None
    if isinstance(parent, ast.Subscript) and parent.value is use:
        key = parent.slice
    elif isinstance(parent, ast.Attribute) and parent.attr in READERS:
        call = text.parent(parent)
        key = call.args[0] if isinstance(call, ast.Call) and call.args else None
    elif isinstance(parent, ast.Compare):
        key = parent.left
    elif isinstance(parent, ast.Delete):
        return ""
    return str(key.value) if isinstance(key, ast.Constant) else None


def _is_loaded(text: SourceText, use: ast.Name) -> bool:
    """Return whether a read value is loaded as the state of something."""
    return any(
        get_called_name(node) == "load_state_dict" for node in text.outwards(use)
    )


def _is_resumed(text: SourceText, uses: list[ast.Name]) -> bool:
    """Return whether a counter of the checkpoint is where a loop goes on."""
    counted = False
    for use in uses:
        key = _find_key(text, use) or ""
        printed = any(
            isinstance(node, ast.JoinedStr) or get_called_name(node) == "print"
            for node in text.outwards(use)
        )
        statement = text.statement_of(use)
        kept = isinstance(statement, ast.Assign | ast.AugAssign | ast.Return)
        counted |= bool(COUNTER.search(key)) and kept and not printed
    starts = any(
        isinstance(node, ast.Call)
        and get_called_name(node) == "range"
        and len(node.args) > 1
        and not isinstance(node.args[0], ast.Constant)
        for node in text.nodes
    )
    return counted and (starts or any(isinstance(n, ast.While) for n in text.nodes))
