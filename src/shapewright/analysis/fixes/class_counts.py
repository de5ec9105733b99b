"""Counts of classes that lack those without samples: `np.bincount(labels)` behind the
weights of a loss; numbers of classes where the program lists more names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_labels import CLASS_LOSSES
from shapewright.findings.codes import (
    CLASS_WEIGHTS,
    INDEX_OUT_OF_RANGE,
    K_TOO_LARGE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    is_starred,
    iter_assignments,
    list_arguments,
)

CLASSES = re.compile(r"class|label|categor|kind|species|target|^len\(names\)$")
MODULES = ("np", "numpy", "torch")


def suggest_all_classes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `minlength=n_classes` for the counts that weights of classes are made of,
    where they have fewer numbers than the program says that there are classes.
    """
    yield from _suggest_counts(program, failure, is_named=True)


def suggest_counted_outputs(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `minlength=` with the number of outputs, where no name says how many
    classes there are: the model may be what has too many.
    """
    yield from _suggest_counts(program, failure, is_named=False)


def suggest_listed_classes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `num_labels=len(NAMES)` for a number of classes, where a loss is given
    labels beyond it and the program lists more names of classes; also for the config
    of a model that no number is written for.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or not 1 < needs <= has:
        return
    if op.name.rpartition(".")[2] not in CLASS_LOSSES:
        return
    for text in program.own_texts():
        numbers = [
            node
            for node in text.nodes
            if isinstance(node, ast.Constant)
            and type(node.value) is int
            and node.value == needs
            and COUNTS.search(_get_name(text, node))
        ]
        lists = [
            target
            for target, value in iter_assignments(text.tree, annotated=True)
            if isinstance(target, ast.Name)
            and isinstance(value, ast.List | ast.Tuple)
            and len(value.elts) > has
            and OF_CLASSES.search(target.id.lower())
            and all(_is_text(part) for part in value.elts)
        ]
        if not numbers and len(lists) == 1 and needs == DEFAULT_LABELS:
            names = lists[0]
            if text.around(names, *FUNCTIONS) is None:
                new = f"len({names.id})"
                yield from suggest_labels_of_config(text, new, names.lineno)
        if len(numbers) != 1 or len(lists) != 1:
            continue
        number, names = numbers[0], lists[0]
        if names.lineno > number.lineno or text.around(names, *FUNCTIONS) is not None:
            continue
        new = f"len({names.id})"
        shown = f"`{new}` for `{needs}`"
        yield Fix("fits", shown, (Edit(text.span(number), new),))


def suggest_labels_of_config(text: SourceText, count: str, line: int) -> Iterator[Fix]:
    """Suggest `num_labels=` for the config of a model of `transformers`, or for the
    call that loads it, where none is given; `count` is known from a line on.
    """
    if "transformers" not in text.text:
        return
    calls = [node for node in text.nodes if isinstance(node, ast.Call)]
    models = [call for call in calls if OF_LABELS.search(_get_class_name(call))]
    configs = [call for call in calls if CONFIG.match(_get_class_name(call))]
    if len(models) != 1 or len(configs) > 1:
        return
    built = (configs or models)[0]
    words = {word.arg for call in (*models, *configs) for word in call.keywords}
    if is_starred(built) or words & OF_CONFIGS or built.lineno < line:
        return
    if not configs and get_called_name(built) != "from_pretrained":
        return
    yield with_keyword(text, built, f"num_labels={count}")


def _get_class_name(call: ast.Call) -> str:
    """Return the class that a call builds: `BertConfig` of
    `BertConfig.from_pretrained(name)`.
    """
    name, func = get_called_name(call), call.func
    if name == "from_pretrained" and isinstance(func, ast.Attribute):
        return get_last_name(func.value)
    return name


DEFAULT_LABELS = 2
"""Labels of a config of `transformers` that is given no number."""
OF_LABELS = re.compile(r"For(Sequence|Token|Image|Audio|Video)Classification$")
CONFIG = re.compile(r"[A-Z]\w*Config$")
OF_CONFIGS = frozenset({"num_labels", "id2label", "label2id", "problem_type"})
"""Settings that say how many labels there are."""


COUNTS = re.compile(r"(class|label|categor|kind|species|intent|target)(es|s|ies)?$")
"""How numbers of classes are called, at their ends."""
OF_CLASSES = re.compile(rf"{COUNTS.pattern}|names?$")
"""How lists of their names are called."""


def _is_text(node: ast.expr) -> bool:
    """Return whether an item of a list is a name."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _get_name(text: SourceText, node: ast.Constant) -> str:
    """Return the parameter, the keyword, the key or the name that a number sets."""
    around = text.parent(node)
    if isinstance(around, ast.keyword):
        return (around.arg or "").lower()
    if isinstance(around, ast.arguments):
        names = [argument.arg for argument in (*around.posonlyargs, *around.args)]
        pairs = list(zip(around.defaults[::-1], names[::-1], strict=False))
        pairs += [
            (value, word.arg)
            for value, word in zip(around.kw_defaults, around.kwonlyargs, strict=True)
            if value is not None
        ]
        return next((name.lower() for value, name in pairs if value is node), "")
    if isinstance(around, ast.Assign) and len(around.targets) == 1:
        return get_last_name(around.targets[0]).lower()
    if isinstance(around, ast.Dict) and node in around.values:
        key = around.keys[around.values.index(node)]
        return str(key.value).lower() if isinstance(key, ast.Constant) else ""
    return ""


def _suggest_counts(
    program: Program, failure: Failure, is_named: bool
) -> Iterator[Fix]:
    unmet = failure.unmet
    if unmet is None or unmet.code != CLASS_WEIGHTS:
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or not 0 < has < needs:
        return
    counts = [
        (text, call)
        for text in program.own_texts()
        for call in text.nodes
        if isinstance(call, ast.Call) and _is_count(text, call)
    ]
    if len(counts) != 1:
        return
    text, call = counts[0]
    names = _iter_class_numbers(text, call, needs)
    written = next((name for name in names if _is_of_classes(program, name)), "")
    if bool(written) != is_named:
        return
    written = written or str(needs)
    if get_called_name(call) == "bincount":
        yield with_keyword(text, call, f"minlength={written}")
        return
    if get_called_name(call) == "value_counts":  # none may be divided by
        new = f".reindex(range({written}), fill_value=1)"
        shown = f"{text.written(call)}{new}"
        yield Fix("fits", f"`{shown}`", (Edit(text.span(call).end, new),))
        return
    statement = text.statement_of(call)
    if not isinstance(statement, ast.Assign):
        return
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(call.func, ast.Attribute):
        module, labels = text.written(call.func.value), text.written(call.args[0])
        name = text.written(target.elts[1])
        new = f"{name} = {module}.bincount({labels}, minlength={written})"
        edit = Edit(text.span(statement), new)
        yield Fix("fits", f"`{' '.join(new.split())}`", (edit,))


def _is_of_classes(program: Program, written: str) -> bool:
    """Return whether a name speaks of classes, or is what a class is built with."""
    return CLASSES.search(written.lower()) is not None or any(
        text.line_of(argument) == written
        for text in program.own_texts()
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call)[:1].isupper()
        for argument in list_arguments(call)
    )


def _is_count(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call counts the labels that are there: `np.bincount(y)`, or
    `_, counts = np.unique(y, return_counts=True)`.
    """
    name, words = get_called_name(call), {word.arg for word in call.keywords}
    if is_starred(call):
        return False
    if name == "bincount":
        is_method = not isinstance(call.func, ast.Attribute) or (
            text.written(call.func.value) not in MODULES
        )
        return "minlength" not in words and len(call.args) <= 1 - is_method
    if name == "value_counts":
        return not call.args and words <= {"sort"}
    statement = text.parent(call)
    if name != "unique" or words != {"return_counts"} or len(call.args) != 1:
        return False
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return False
    first = target.elts[0]
    scope = text.around(call, *FUNCTIONS) or text.tree
    reads = [
        node
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    return isinstance(first, ast.Name) and all(n.id != first.id for n in reads)


def _iter_class_numbers(text: SourceText, node: ast.AST, number: int) -> Iterator[str]:
    """Yield what the program calls its number of classes in the scope of a call: a
    parameter, a constant, `len(CLASSES)`.
    """
    scope = text.around(node, ast.FunctionDef)
    parameters = [part.arg for part in scope.args.args] if scope is not None else []
    for name in parameters:
        known = [evaluate_whole_number(value) for value in find_defining(text, name)]
        if number in known and all(value in (None, number) for value in known):
            yield name
    body = text.tree.body if text.tree is not None else []
    targets = [pair for part in body for pair in iter_assignments(part, annotated=True)]
    for target, value in targets:
        if not isinstance(target, ast.Name) or text.parent(target) not in body:
            continue
        if evaluate_whole_number(value) == number:
            yield target.id
    for target, value in targets:
        if isinstance(value, ast.Dict):
            count = len(value.keys)
        elif isinstance(value, ast.List | ast.Tuple):
            count = len(value.elts)
        else:
            continue
        if isinstance(target, ast.Name) and count == number:
            yield f"len({target.id})"


def suggest_fewer_largest(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest fewer of the largest, where `topk` is asked for more than there are
    classes: `topk=(1, 2)` for `topk=(1, 5)`, or `min(k, ...)`.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.call_at(op.span)
    if unmet is None or unmet.code != K_TOO_LARGE or place is None:
        return
    if op.name.rpartition(".")[2] not in RANKING:
        return
    text, call = place
    size, asked = unmet.has, unmet.needs
    if type(size) is not int or type(asked) is not int or size < 1:
        return
    for own in program.own_texts():
        for node in own.nodes:
            if isinstance(node, ast.Tuple | ast.List) and _is_of_ranks(own, node):
                yield from _suggest_ranks(own, node, size, asked)
    is_method = op.name.startswith("Tensor.")
    at = 0 if is_method else 1
    values = [word.value for word in call.keywords if word.arg == "k"]
    values += call.args[at : at + 1]
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not is_method:
        owner = call.args[0] if call.args else None
    dim = unmet.got.dim if unmet.got is not None else None
    ndim = op.inputs[0].ndim
    if not values or owner is None or dim is None or (dim == 0 and ndim > 1):
        return  # the largest of the samples are rarely meant
    written = text.written(values[0])
    shown = dim - ndim if ndim > 2 else dim
    new = f"min({written}, {text.written(owner)}.size({shown}))"
    if isinstance(owner, ast.Name | ast.Attribute):
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(values[0]), new),))


RANKING = ("topk", "kthvalue")
RANKS = re.compile(r"top_?ks?$|^ks$|ranks$")


def _is_of_ranks(text: SourceText, node: ast.Tuple | ast.List) -> bool:
    """Return whether numbers say of how many of the largest a share is counted."""
    around = text.parent(node)
    name = ""
    if isinstance(around, ast.keyword):
        name = around.arg or ""
    elif isinstance(around, ast.Assign) and len(around.targets) == 1:
        name = get_last_name(around.targets[0])
    elif isinstance(around, ast.Call) and node in around.args:
        name = _get_parameter(text, around, around.args.index(node))
    return RANKS.search(name.lower()) is not None and all(
        isinstance(part, ast.Constant) and type(part.value) is int for part in node.elts
    )


def _get_parameter(text: SourceText, call: ast.Call, at: int) -> str:
    """Return the name of the parameter that an argument is passed to, or ""."""
    for _, function in text.functions(get_called_name(call)):
        names = [part.arg for part in function.args.args]
        return names[at] if at < len(names) else ""
    return ""


def _suggest_ranks(
    text: SourceText, node: ast.Tuple | ast.List, size: int, asked: int
) -> Iterator[Fix]:
    """Suggest numbers of which the largest is one less than there are classes: among
    all classes, the right one always is.
    """
    numbers = [part.value for part in node.elts if isinstance(part, ast.Constant)]
    large = [part for part in numbers if isinstance(part, int) and part > size]
    if asked not in numbers or len(large) != 1:
        return
    for new in (size - 1, size):
        if new < 2 or new in numbers:
            continue
        ranks = ", ".join(str(new if part in large else part) for part in numbers)
        edits = tuple(
            Edit(text.span(part), str(new))
            for part in node.elts
            if isinstance(part, ast.Constant) and part.value in large
        )
        yield Fix("fits", f"`({ranks})`", edits)
        return
