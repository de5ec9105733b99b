"""Find results of a shuffled loader that are put beside what is in another order.

The run knows which loops go through a shuffled loader; the text says what they collect,
and what the collection is zipped with, compared with or written beside.
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
from shapewright.findings.codes import SHUFFLED_ORDER, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_line,
    get_last_name,
)

KEEPING = frozenset({"append", "extend"})
COUNTING = frozenset({"len", "set", "bincount", "unique", "Counter", "max", "sum"})
JOINS = operators_with("joins_tensors", "concatenates")
SAME_ORDER = operators_with(
    "concatenates", "joins_tensors", "regroups_dims", "computes_each_element",
    "returns_python_value", "returns_indices", "takes_program_data", "moves_device",
    "normalizes_along_dim",
) | {"array", "list", "tuple", "astype", "squeeze"}  # fmt: skip
"""Calls after which rows are in the same order."""
WITHOUT_ORDER = re.compile(r"class|vocab|column|feature|transform|token", re.I)
"""Attributes of data sets that are not of samples."""
TRUTHS = re.compile(r"label|target|truth|tensors|^ys?$|answer", re.I)
"""Attributes of data sets with which results are compared, one by one."""
SHUFFLED = "this loader has `shuffle=True`"
METRICS = ("_score", "_error", "confusion_matrix", "classification_report", "roc_curve")


@dataclass(frozen=True, slots=True)
class _Loader:
    """How the text calls a loader and its data set; `tensors` are what the data set is
    made of, `tables` what these are computed from.
    """

    names: frozenset[str]
    dataset: str
    tensors: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()


@looks_for(SHUFFLED_ORDER)
def find_shuffled_results(scene: RehearsalContext) -> Iterator[Finding]:
    """Find collected results of a shuffled loader that meet the data set's order."""
    seen: set[object] = set()
    for met in scene.observations("shuffled"):
        text = scene.program.text(met.place[0])
        loader = _find_loader(scene, met.other) if met.other is not None else None
        if text is None or met.other is None:
            continue
        for pass_over in _find_unlabelled(text, met.place[1]):
            if pass_over not in seen:
                seen.add(pass_over)
                yield build_finding(
                    SHUFFLED_ORDER,
                    "these results are in the order in which a shuffled loader drew the"
                    " samples, the labels beside them are left out, and elsewhere those"
                    " of the data set are read in its own order",
                    text.span(pass_over),
                    (scene.span(met.other, "DataLoader"), SHUFFLED),
                )
        for loop in _iter_loops(text, met.place[1]) if loader is not None else ():
            assert loader is not None
            for results, scope in _find_results(text, loop, loader):
                for node, words in _find_meetings(text, scope, results, loader):
                    if node in seen:
                        continue
                    seen.add(node)
                    yield build_finding(
                        SHUFFLED_ORDER,
                        f"{words[0]} is in the order in which a shuffled loader drew"
                        f" the samples, and {words[1]} in that of the data set",
                        text.span(node),
                        (scene.span(met.other, "DataLoader"), SHUFFLED),
                        (text.span(loop.iter), "the results are collected here"),
                    )


def _iter_loops(text: SourceText, line: int) -> Iterator[ast.For | ast.comprehension]:
    """Yield the loops on a line, those inside expressions too."""
    yield from text.for_loops(line)
    for node in text.near(line):
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield node.generators[0]


def _find_unlabelled(text: SourceText, line: int) -> Iterator[ast.expr]:
    """Yield the joined results of a pass over a loader that leaves out the labels, in a
    program that elsewhere reads the labels of a data set.
    """
    if not _has_labels_in_order(text):
        return
    for node in text.near(line):
        for part in ast.walk(node):
            if not isinstance(part, ast.ListComp | ast.GeneratorExp):
                continue
            target = part.generators[0].target
            joined = text.parent(part)
            if not isinstance(target, ast.Tuple) or not isinstance(joined, ast.Call):
                continue
            last = target.elts[-1]
            is_left_out = isinstance(last, ast.Name) and last.id.startswith("_")
            if is_left_out and get_called_name(joined) in JOINS:
                yield joined


def _has_labels_in_order(text: SourceText) -> bool:
    """Return whether a program reads the labels of a loader's data set."""
    return any(
        isinstance(node, ast.Attribute)
        and TRUTHS.search(node.attr)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "dataset"
        and not _is_counted(text, node)
        for node in text.nodes
    )


def _is_counted(text: SourceText, node: ast.Attribute) -> bool:
    """Return whether labels are counted, whatever their order."""
    call = text.around(node, ast.Call)
    return call is not None and get_called_name(call) in COUNTING


def _find_loader(scene: RehearsalContext, place: tuple[str, int]) -> _Loader | None:
    """Return the names of a loader that is built on a line, and of its data set."""
    text = scene.program.text(place[0])
    for node in text.near(place[1]) if text is not None else ():
        if get_called_name(node) != "DataLoader" or not isinstance(node, ast.Call):
            continue
        words = {word.arg: word.value for word in node.keywords}
        dataset = node.args[0] if node.args else words.get("dataset")
        assert text is not None
        statement = text.statement_of(node)
        if isinstance(statement, ast.Return) and statement.value is node:
            return _find_built_loader(text, node, dataset)
        if not isinstance(statement, ast.Assign) or statement.value is not node:
            return None
        names = frozenset(text.written(target) for target in statement.targets)
        whole = get_dotted_name(dataset) if dataset is not None else ""
        return _Loader(names, whole, *_find_sources(text, dataset))
    return None


def _find_sources(
    text: SourceText, dataset: ast.expr | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the tensors of a `TensorDataset`, and of the tables that
    these are computed from: `x`, `frame` of `x = torch.tensor(frame[names].values)`.
    """
    values = [dataset] if dataset is not None else []
    if isinstance(dataset, ast.Name):
        values = list(find_defining(text, dataset.id))
    looped = {
        name
        for node in text.nodes
        if isinstance(node, ast.For | ast.comprehension)
        for name in collect_names(node.target)
    }
    tensors = frozenset(
        argument.id
        for value in values
        if isinstance(value, ast.Call)
        and (
            get_called_name(value) == "TensorDataset"
            or _has_items(text, get_called_name(value))
        )
        for argument in value.args
        if isinstance(argument, ast.Name) and argument.id not in looped
    )
    tables = {
        part.value.id
        for tensor in tensors
        for value in find_defining(text, tensor)
        for part in ast.walk(value)
        if isinstance(part, ast.Subscript | ast.Attribute)
        and isinstance(part.value, ast.Name)
        and get_called_name(value) in SAME_ORDER
    }
    return tensors, frozenset(tables)


def _has_items(text: SourceText, name: str) -> bool:
    """Return whether a class of the program is a data set: it gives items."""
    return any(
        getattr(method, "name", "") == "__getitem__"
        for _, owner in text.definitions(name)
        for method in getattr(owner, "body", ())
    )


def _find_built_loader(
    text: SourceText, node: ast.Call, dataset: ast.expr | None
) -> _Loader | None:
    """Return the loader that a function builds of an argument and returns, as its only
    data set is passed: `self.loader(test_set)`.
    """
    function = text.around(node, ast.FunctionDef)
    if function is None or not isinstance(dataset, ast.Name):
        return None
    place = _get_place(function, dataset.id)
    calls = [
        call
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == function.name
    ]
    names = [
        get_dotted_name(call.args[place])
        for call in calls
        if place is not None and len(call.args) > place
    ]
    if not names or len(names) != len(calls) or len(set(names)) > 1:
        return None
    called = {text.written(call) for call in calls}
    for call in calls:
        statement = text.statement_of(call)
        if isinstance(statement, ast.Assign) and statement.value is call:
            called |= {text.written(target) for target in statement.targets}
    return _Loader(frozenset(called), names[0])


def _find_results(
    text: SourceText, loop: ast.For | ast.comprehension, loader: _Loader
) -> Iterator[tuple[set[str], ast.AST]]:
    """Yield names of what a loop collects in its order, each with the scope that has
    them: that of the loop, or one that calls its function with the loader.
    """
    statement = loop if isinstance(loop, ast.For) else text.around(loop, ast.stmt)
    function = text.around(loop, ast.FunctionDef)
    scope: ast.AST | None = function or text.tree
    if statement is None or scope is None:
        return
    collects = not isinstance(loop, ast.For)
    kept = {name for node in ast.walk(statement) for name in [_get_kept(node)] if name}
    if collects and isinstance(statement, ast.Assign):
        kept = _get_joined(statement.targets[0], statement.value, loop)
    if not kept and not collects:
        return
    kept = _follow(scope, kept, statement)
    looped = _get_looped(text, loop, loader)
    place = _get_place(function, looped) if function is not None else None
    if function is None or place is None:
        if looped in loader.names:
            yield kept, scope
        return
    returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    is_direct = isinstance(statement, ast.Return) and collects
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != function.name:
            continue
        loaders = [*call.args[place : place + 1]]
        loaders += [word.value for word in call.keywords if word.arg == looped]
        if not loaders or text.written(loaders[0]) not in loader.names:
            continue
        around = text.around(call, ast.FunctionDef) or text.tree
        caller = text.statement_of(call)
        if around is None or len(returned) != 1 or returned[0] is None:
            continue
        if not isinstance(caller, ast.Assign) or caller.value is not call:
            continue
        names = (
            _get_joined(caller.targets[0], returned[0], loop)
            if is_direct
            else _get_assigned(caller.targets[0], returned[0], kept)
        )
        if names:
            yield _follow(around, names, caller), around


def _get_joined(target: ast.expr, value: ast.expr, loop: ast.AST) -> set[str]:
    """Return the name that is assigned what a comprehension collects, if each turn adds
    its rows behind those before.
    """
    while isinstance(value, ast.Call) and get_called_name(value) in SAME_ORDER:
        owner = value.func.value if isinstance(value.func, ast.Attribute) else None
        inside = [
            part
            for part in (owner, *value.args[:1])
            if part is not None and any(node is loop for node in ast.walk(part))
        ]
        if not inside:
            return set()
        value = inside[0]
    is_list = isinstance(value, ast.ListComp | ast.GeneratorExp)
    return _list_names(target) if is_list else set()


def _get_kept(node: ast.AST) -> str:
    """Return the list to which a call adds, or `names += rows.tolist()`, or an empty
    string.
    """
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        is_list = get_called_name(node.value) in ("tolist", "list")
        is_list |= isinstance(node.value, ast.List | ast.ListComp)
        return get_last_name(node.target) if is_list else ""
    if not isinstance(node, ast.Call) or get_called_name(node) not in KEEPING:
        return ""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else ""


def _get_looped(
    text: SourceText, loop: ast.For | ast.comprehension, loader: _Loader
) -> str:
    """Return the name of what a loop goes through: `x` of `enumerate(tqdm(x))`."""
    node: ast.expr = loop.iter
    while isinstance(node, ast.Call) and node.args:
        if text.written(node) in loader.names:
            return text.written(node)
        node = node.args[0]
    return get_dotted_name(node)


def _get_place(function: ast.FunctionDef, name: str) -> int | None:
    """Return the position of a parameter in calls of a function, without `self`."""
    names = [argument.arg for argument in function.args.args]
    names = names[1:] if names[:1] == ["self"] else names
    return names.index(name) if name in names else None


def _get_assigned(target: ast.expr, value: ast.expr, kept: set[str]) -> set[str]:
    """Return the names that are assigned what was collected."""
    if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple):
        if len(value.elts) != len(target.elts):
            return set()
        names: set[str] = set()
        for part, source in zip(target.elts, value.elts, strict=True):
            names |= _list_names(part) if _is_in_order(source, kept) else set()
        return names
    return _list_names(target) if _is_in_order(value, kept) else set()


def _list_names(target: ast.expr) -> set[str]:
    return {target.id} if isinstance(target, ast.Name) else set()


def _is_in_order(value: ast.expr, kept: set[str]) -> bool:
    """Return whether an expression has the rows of a collection in the same order."""
    if isinstance(value, ast.Name):
        return value.id in kept
    if isinstance(value, ast.ListComp):
        rows = value.generators[0]
        return (
            len(value.generators) == 1
            and not rows.ifs
            and (_is_in_order(rows.iter, kept))
        )
    if isinstance(value, ast.Call):
        if get_called_name(value) not in SAME_ORDER:
            return False
        owner = value.func.value if isinstance(value.func, ast.Attribute) else None
        parts = [*value.args[:1], *([owner] if owner is not None else [])]
        return any(_is_in_order(part, kept) for part in parts)
    if isinstance(value, ast.Compare):
        return _is_in_order(value.left, kept) and not any(
            collect_names(part) & kept for part in value.comparators
        )
    return False


def _follow(scope: ast.AST, names: set[str], after: ast.stmt) -> set[str]:
    """Return the names, and those that are assigned the same rows further down."""
    names = set(names)
    last = get_last_line(after)
    assignments = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and node.lineno > last
    ]
    for node in sorted(assignments, key=lambda node: node.lineno):
        if len(node.targets) == 1:
            assigned = _list_names(node.targets[0])
            if _is_in_order(node.value, names):
                names |= assigned
            else:
                names -= assigned
    return names


def _find_meetings(
    text: SourceText, scope: ast.AST, results: set[str], loader: _Loader
) -> Iterator[tuple[ast.expr, tuple[str, str]]]:
    """Yield the expressions in which results meet what the data set has in order."""
    for node in ast.walk(scope):
        sides: list[ast.expr] = []
        is_known = True
        if isinstance(node, ast.Call):
            name = get_called_name(node)
            is_metric = name.endswith(METRICS) or name in METRICS
            is_own = bool(text.functions(name)) and len(node.args) > 1
            is_known = not is_own
            is_table = name == "DataFrame" and node.args
            if name == "zip" or is_metric or is_own:
                sides = list(node.args)
            elif is_table and isinstance(node.args[0], ast.Dict):
                sides = list(node.args[0].values)
        elif isinstance(node, ast.Compare) and isinstance(
            node.ops[0], ast.Eq | ast.NotEq
        ):
            sides = [node.left, *node.comparators]
        own = [side for side in sides if _is_in_order(side, results)]
        other = [side for side in sides if _is_of_data_set(side, loader)]
        if isinstance(node, ast.Compare) or not is_known:
            other = [side for side in other if TRUTHS.search(_get_attribute(side))]
        if own and other and isinstance(node, ast.expr):
            words = f"`{text.line_of(own[0])}`", f"`{text.line_of(other[0])}`"
            yield node, words


def _get_attribute(node: ast.expr) -> str:
    """Return the last attribute of a data set in an expression: `ids` of
    `data.ids.tolist()`, without the methods that keep its order.
    """
    names = [n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)]
    return next((name for name in names if name not in SAME_ORDER), "")


def _is_of_data_set(node: ast.expr, loader: _Loader) -> bool:
    """Return whether an expression is a list that a data set has in its own order."""
    while isinstance(node, ast.Call) and get_called_name(node) in SAME_ORDER:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        inner = get_dotted_name(owner) if owner is not None else ""
        if node.args and not inner.startswith(loader.dataset or "."):
            node = node.args[0]
        elif owner is not None:
            node = owner
        else:
            return False
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value
        if isinstance(node, ast.Name) and node.id in loader.tables:
            return True
    if isinstance(node, ast.Name) and node.id in loader.tensors:
        return True
    written = get_dotted_name(node)
    if WITHOUT_ORDER.search(written.rpartition(".")[2]):
        return False
    wholes = [f"{name}.dataset" for name in loader.names]
    wholes += [loader.dataset] if loader.dataset else []
    return any(written.startswith(f"{whole}.") for whole in wholes)
