"""Find loaders that nothing reads, where the other one is read in their place: an
evaluation on the batches of training, a training on those of the test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import UNUSED_SPLIT
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
)

OF_TRAINING = re.compile(r"(?:^|_)(train|training|trn)(?:_|$)")
HELD_OUT = re.compile(r"(?:^|_)(val|valid|validation|test|testing|eval|dev)(?:_|$)")
LOADERS = re.compile(r"loader$|^dl_|_dl$|_iter$|^loader_")


def find_unread_loaders(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `for x, y in train_loader:` of an evaluation, beside a `val_loader` that
    nothing reads, and the reverse of a training.
    """
    for text in scene.program.own_texts():
        for kind in (ast.Name, ast.Attribute):
            yield from _find_unread(text, kind)


def _find_unread(text: SourceText, kind: type[_Holder]) -> Iterator[Finding]:
    """Yield the finding for loaders that are names, or attributes of objects."""
    built = _list_built(text, kind)
    read: dict[str, list[_Holder]] = {}
    for node in text.nodes:
        is_read = isinstance(node, kind) and isinstance(node.ctx, ast.Load)
        if is_read and isinstance(node, _Holder) and not _is_counted(text, node):
            read.setdefault(get_last_name(node), []).append(node)
    trained = [name for name in built if OF_TRAINING.search(name)]
    held_out = [name for name in built if HELD_OUT.search(name)]
    unread = [name for name in (*trained, *held_out) if name not in read]
    others = held_out if unread[:1] == trained else trained
    if len(unread) != 1 or len(trained) != 1 or len(others) != 1:
        return
    wanted = "evaluates" if unread[0] in held_out else "trains"
    uses = [(use, _find_purpose(text, use)) for use in read.get(others[0], ())]
    meant = [use for use, purpose in uses if purpose == wanted]
    is_told = len(meant) == 1 and (wanted == "trains" or len(uses) > 1)
    if is_told and not _is_named(text, meant[0], others[0]):
        shown, other = text.written(meant[0]), unread[0]
        other = shown.removesuffix(others[0]) + other
        yield build_finding(
            UNUSED_SPLIT,
            f"this {wanted} on the batches of `{shown}`, and nothing reads those of"
            f" `{other}`",
            text.span(meant[0]),
            (text.span(built[unread[0]]), f"`{other}` is made here"),
        )


_Holder = ast.Name | ast.Attribute
"""What a loader is kept as."""


def _is_counted(text: SourceText, name: _Holder) -> bool:
    """Return whether only a length is read: `len(loader)`, `len(loader.dataset)`."""
    outer = text.parent(name)
    if isinstance(outer, ast.Attribute) and outer.attr in ("dataset", "sampler"):
        outer = text.parent(outer)
    return isinstance(outer, ast.Call) and get_called_name(outer) == "len"


def _list_built(text: SourceText, kind: type[_Holder]) -> dict[str, ast.expr]:
    """Return the names of loaders that a file assigns once, as names or as attributes,
    with what makes them.
    """
    built: dict[str, ast.expr] = {}
    again = set()
    for node in text.nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            for part in parts:
                name = get_last_name(part)
                if not isinstance(part, kind):
                    continue
                if name in built:
                    again.add(name)
                is_loader = get_called_name(node.value) == "DataLoader"
                if is_loader or LOADERS.search(name):
                    built[name] = node.value
    return {name: value for name, value in built.items() if name not in again}


def _find_purpose(text: SourceText, use: _Holder) -> str:
    """Return whether a loop over batches, or the function that is handed the loader,
    trains or evaluates; empty for another use.
    """
    outer = text.parent(use)
    while isinstance(outer, ast.Call) and get_called_name(outer) in WRAPPERS:
        outer = text.parent(outer)
    if isinstance(outer, ast.For) and use in ast.walk(outer.iter):
        return _name_purpose(text, outer, outer)
    if isinstance(outer, ast.keyword):
        outer = text.parent(outer)
    if isinstance(outer, ast.Call):
        name = get_called_name(outer)
        for _, function in text.definitions(name) if name else ():
            loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
            if isinstance(function, ast.FunctionDef) and loops:
                return _name_purpose(text, function, loops[0], outer)
    return ""


def _name_purpose(
    text: SourceText, scope: ast.AST, loop: ast.For, call: ast.Call | None = None
) -> str:
    """Return whether a piece of code trains or evaluates in a loop over batches, of a
    function that a call runs; empty for a loop that may count, or measure the data.
    """
    called = {get_called_name(node) for node in ast.walk(scope)}
    if called & PASSES:
        return "trains"
    function = text.around(loop, *FUNCTIONS)
    around: list[ast.AST] = [loop, *text.outwards(loop)]
    around += text.outwards(call) if call is not None else ()
    entered = [
        item.context_expr
        for node in (*around, *loop.body)
        if isinstance(node, ast.With)
        for item in node.items
    ]
    entered += getattr(function, "decorator_list", [])
    is_quiet = "eval" in called or any(
        QUIET.search(text.written(head)) for head in entered
    )
    losses = {
        name
        for name in called - {""}
        for value in find_defining(text, name)
        if get_called_name(value).endswith("Loss")
    }
    return "evaluates" if is_quiet and (losses or called & SCORES) else ""


PASSES = frozenset({"backward", "step", "training_step", "train_step", "fit"})
QUIET = re.compile(r"no_grad|inference_mode|set_grad_enabled\(False")
SCORES = operators_with("is_loss", "returns_indices") | {
    "criterion", "loss_fn", "eq", "max",
}  # fmt: skip
"""What an evaluation calls for its batches."""


WRAPPERS = frozenset({"enumerate", "tqdm", "zip", "iter", "islice", "cycle"})


def _is_named(text: SourceText, use: _Holder, name: str) -> bool:
    """Return whether what an evaluation is kept or printed as says that it is of the
    training: `train_accuracy = evaluate(net, train_loader)`.
    """
    statement = text.statement_of(use)
    role = OF_TRAINING.search(name) or HELD_OUT.search(name)
    words = text.written(statement) if statement is not None else ""
    if isinstance(statement, ast.For):
        function = text.around(statement, *FUNCTIONS)
        words = " ".join(text.written(part) for part in statement.body)
        words += getattr(function, "name", "")
    else:
        words = words.replace(text.written(use), "")
    return role is not None and role.group(1) in words
