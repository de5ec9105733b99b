"""Errors of optimizers and schedulers: sparse gradients, numbers that are texts, a
metric that is not given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import cut_lines, write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    LOOPS,
    get_called_name,
    get_last_line,
    iter_assignments,
)

SPARSE = re.compile(r"(\w+) does not support sparse gradients")
TEXTS = re.compile(r"not supported between instances of '(?:float|int)' and 'str'")
LAYERS = frozenset({"Linear", "LSTM", "GRU", "Conv2d", "Transformer", "Embedding"})
NO_ITERABLE = re.compile(r"'(\w+)' object is not iterable")
OF_MODULES = "can only optimize Tensors, but one of the params is torch.nn.modules"
NO_METRIC = re.compile(r"step\(\) missing 1 required positional argument: 'metrics'")
OF_GROUPS = (
    re.compile(r"Expected (?P<groups>\d+) lr_lambdas, but got (?P<count>\d+)"),
    re.compile(r"expected (?P<groups>\d+) values for \w+, got (?P<count>\d+)"),
    re.compile(r"has (?P<count>\d+) values, param_groups has (?P<groups>\d+)"),
)
NO_MOMENTUM = "must support momentum or beta1 with `cycle_momentum`"
YAML_TEXT = re.compile(r"^\s*[\w-]+:\s+((\d+)([eE][-+]?\d+))\s*$")
"""A line of YAML 1.1 whose number is a text, since it has no decimal point."""
WATCHED = re.compile(r"val|^va_|^va$|valid|dev|test|loss")
MOST = 3


def find_optimizer_cause(program: Program, finding: Finding) -> Explanation | None:
    """Return why an optimizer or a scheduler refused something, or None."""
    place = program.node(finding.span)
    messages = finding.words
    if place is None:
        return None
    text, node = place
    sparse = SPARSE.search(messages)
    if sparse is not None:
        return _explain_sparse(program, sparse.group(1))
    if TEXTS.search(messages):
        return _explain_texts(program, text, node)
    if NO_ITERABLE.search(messages) or OF_MODULES in messages:
        return _explain_module(program, text, node, messages)
    if NO_METRIC.search(messages):
        return _explain_metric(text, node)
    for pattern in OF_GROUPS:
        counts = pattern.search(messages)
        if counts is not None:
            groups, count = int(counts["groups"]), int(counts["count"])
            return _explain_groups(text, node, groups, count)
    if NO_MOMENTUM in messages:
        return _explain_cycled_momentum(program, text, node)
    if "unscale_() has already been called" in messages:
        return _explain_unscaling(text, node)
    return None


def _explain_module(
    program: Program, text: SourceText, node: ast.AST, messages: str
) -> Explanation | None:
    """Explain `SGD(model, lr=0.1)` and `Adam([encoder, decoder])`: an optimizer takes
    the parameters.
    """
    refused = NO_ITERABLE.search(messages)
    call = node if isinstance(node, ast.Call) else text.around(node, ast.Call)
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if refused is not None and not _is_module(program, refused[1]):
        return None
    if refused is not None and not any(word.arg == "lr" for word in call.keywords):
        return None
    first = call.args[0]
    items = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
    names = [text.written(item) for item in items]
    if items[0] is first:
        message = f"`{names[0]}` is a module, and an optimizer takes its parameters"
        new = f"{names[0]}.parameters()"
    else:
        message = f"`{text.line_of(first)}` holds modules, and an optimizer takes"
        message += " their parameters"
        new = f"[{', '.join(f'*{name}.parameters()' for name in names)}]"
    edit = Edit(text.span(first), new)
    return Explanation(message, (), (Fix("fits", f"`{new}`", (edit,)),))


def _is_module(program: Program, name: str) -> bool:
    """Return whether a class is a module, of torch or of the program."""
    bases = [
        ast.unparse(base)
        for own in program.own_texts()
        for _, kind in own.definitions(name)
        for base in getattr(kind, "bases", [])
    ]
    return name in LAYERS or any("Module" in base for base in bases)


# -- sparse gradients ------------------------------------------------------------------


def _explain_sparse(program: Program, optimizer: str) -> Explanation | None:
    """Explain that a layer with `sparse=True` makes gradients that most optimizers do
    not take.
    """
    rehearsal = program.rehearsal
    held = rehearsal.training.optimizers if rehearsal is not None else ()
    if len(held) == 1:  # torch names the class that `AdamW` inherits from
        optimizer = held[0].name
    related: list[Related] = []
    edits: dict[Span, Edit] = {}
    for path, built in program.built.items():
        place = program.call_at(built.span)
        if place is None or dict(built.values).get("sparse") is not True:
            continue
        words = f"`{path}` is built with `sparse=True`"
        related.append(Related(built.span, words))
        text, call = place
        for keyword in call.keywords:
            if keyword.arg == "sparse":
                value = _find_flag(text, keyword.value)
                if value is not None:
                    edits[text.span(value)] = Edit(text.span(value), "False")
    if not related:
        return None
    message = (
        f"`{optimizer}` does not take the sparse gradients that an embedding with"
        " `sparse=True` has: `SparseAdam` does, or dense gradients"
    )
    fixes = (Fix("fits", "`sparse=False`", tuple(edits.values())),) if edits else ()
    return Explanation(message, tuple(related), fixes)


def _find_flag(text: SourceText, value: ast.expr) -> ast.Constant | None:
    """Return the `True` that an argument is, or that a parameter has as its default."""
    if isinstance(value, ast.Constant):
        return value if value.value is True else None
    function = text.around(value, ast.FunctionDef)
    if not isinstance(value, ast.Name) or function is None:
        return None
    parameters = function.args.args
    defaults = function.args.defaults
    named = zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True)
    for parameter, default in named:
        if parameter.arg == value.id and isinstance(default, ast.Constant):
            return default if default.value is True else None
    return None


# -- a value for each group ------------------------------------------------------------


def _explain_groups(
    text: SourceText, node: ast.AST, groups: int, count: int
) -> Explanation | None:
    """Explain a schedule that is given fewer values than there are groups."""
    if not isinstance(node, ast.Call):
        return None
    optimizer = text.written(node.args[0]) if node.args else "the optimizer"
    values = [*node.args[1:], *(word.value for word in node.keywords)]
    lists = [
        part
        for part in values
        if isinstance(part, ast.List | ast.Tuple) and len(part.elts) == count
    ]
    message = (
        f"`{optimizer}` has {groups} groups of parameters, and"
        f" `{get_called_name(node)}` is given {count}: it takes one for each group"
    )
    fixes = []
    for part in lists[:1]:
        others = list(_iter_unused_functions(text)) if groups == count + 1 else []
        own = [text.written(item) for item in part.elts]
        if len(others) == 1 and all(
            isinstance(item, ast.Name) and text.functions(item.id) for item in part.elts
        ):
            new = "[" + ", ".join([*own, others[0]]) + "]"
            fixes.append(Fix("fits", f"`{new}`", (Edit(text.span(part), new),)))
        if count == 1:
            new = f"[{own[0]}] * {groups}"
            fixes.append(Fix("fits", f"`{new}`", (Edit(text.span(part), new),)))
    return Explanation(message, (), tuple(fixes))


def _iter_unused_functions(text: SourceText) -> Iterator[str]:
    """Yield the functions of a file that take a step and that nothing names."""
    reads = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    for node in text.nodes:
        if isinstance(node, ast.FunctionDef) and node.name not in reads:
            is_method = isinstance(text.parent(node), ast.ClassDef)
            if len(node.args.args) == 1 and not is_method:
                yield node.name


# -- a momentum that is cycled ---------------------------------------------------------


def _explain_cycled_momentum(
    program: Program, text: SourceText, node: ast.AST
) -> Explanation | None:
    """Explain a schedule that cycles the momentum of an optimizer that has none."""
    if not isinstance(node, ast.Call):
        return None
    rehearsal = program.rehearsal
    held = rehearsal.training.optimizers if rehearsal is not None else ()
    kind = f"`{held[0].name}`" if len(held) == 1 else "the optimizer"
    schedule = get_called_name(node)
    message = (
        f"`{schedule}` cycles the momentum beside the learning rate, and {kind} has"
        " none: with `cycle_momentum=False` it cycles the rate alone"
    )
    for word in node.keywords:
        if word.arg == "cycle_momentum":
            if not isinstance(word.value, ast.Constant):
                return Explanation(message)
            edit = Edit(text.span(word.value), "False")
            fix = Fix("fits", "`cycle_momentum=False`", (edit,))
            return Explanation(message, (), (fix,))
    return Explanation(message, (), (with_keyword(text, node, "cycle_momentum=False"),))


# -- numbers that are texts ------------------------------------------------------------


def _explain_texts(
    program: Program, text: SourceText, node: ast.AST
) -> Explanation | None:
    """Explain that a number, such as the learning rate, was read as a text."""
    if not isinstance(node, ast.Call):
        return None
    values = program.ending.values if program.ending is not None else {}
    for keyword in node.keywords:
        literal = keyword.value
        if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
            if _is_number(literal.value):
                message = f"`{keyword.arg}` is the text {literal.value!r}, not a number"
                edit = Edit(text.span(literal), literal.value)
                shown = f"`{keyword.arg}={literal.value}`"
                return Explanation(message, (), (Fix("fits", shown, (edit,)),))
            continue
        value = values.get(text.written(keyword.value))
        if isinstance(value, str) and _is_number(value):
            written = text.written(keyword.value)
            message = f"`{keyword.arg}` is the text {value!r}, not a number"
            fixes = [*_suggest_kind(text, keyword.value)]
            cast = Edit(text.span(keyword.value), f"float({written})")
            fixes.append(Fix("fits", f"`float({written})`", (cast,)))
            return Explanation(message, (), tuple(fixes))
    for constant in text.nodes:
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
            written_text = _find_yaml_text(text, constant)
            if written_text is not None:
                span, number, meant = written_text
                message = (
                    f"YAML reads {number} as a text: a number with an exponent needs a"
                    f" decimal point there, {meant}"
                )
                where = Related(span, f"{number} is written here")
                fix = Fix("fits", f"`{meant}`", (Edit(span, meant),))
                return Explanation(message, (where,), (fix,))
    return None


def _is_number(value: str) -> bool:
    """Return whether a text is written like a number."""
    try:
        float(value)
    except ValueError:
        return False
    return True


def _suggest_kind(text: SourceText, value: ast.expr) -> Iterator[Fix]:
    """Suggest `type=float` for the option of the command line that a value is."""
    if not isinstance(value, ast.Attribute):
        return
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "add_argument":
            continue
        names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        plain = [str(name).lstrip("-").replace("-", "_") for name in names]
        if value.attr in plain and all(word.arg != "type" for word in node.keywords):
            yield with_keyword(text, node, "type=float")


def _find_yaml_text(
    text: SourceText, constant: ast.Constant
) -> tuple[Span, str, str] | None:
    """Return the place of a number in YAML that is read as a text, as it is written and
    as it is meant.
    """
    for line in range(constant.lineno, get_last_line(constant) + 1):
        match = YAML_TEXT.match(text.lines[line - 1])
        if match is not None:
            begin, end = match.span(1)
            span = Span(text.file, line, begin + 1, line, end + 1)
            return span, match.group(1), f"{match.group(2)}.0{match.group(3)}"
    return None


# -- gradients that are unscaled at each part of a step --------------------------------


def _explain_unscaling(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain that gradients are divided by their scale once for each step, where they
    are added up over several batches.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    block = getattr(text.parent(statement), "body", [])
    if not isinstance(statement, ast.stmt) or statement not in block:
        return None
    message = (
        "the gradients are divided by their scale once for each step: here it is done"
        " again, before a step and `update` have come"
    )
    place = _find_step(text, statement, block)
    if place is None:
        return Explanation(message)
    moved, target = place
    indent = " " * target.col_offset
    rows = [text.written(part) for part in moved]
    edits = [write_before(text, target, f"\n{indent}".join(rows))]
    edits += [cut_lines(text, part) for part in moved]
    shown = f"`{rows[0]}` before `{text.line_of(target)}`"
    return Explanation(message, (), (Fix("fits", shown, tuple(edits)),))


def _find_step(
    text: SourceText, statement: ast.stmt, block: list[ast.stmt]
) -> tuple[list[ast.stmt], ast.stmt] | None:
    """Return what belongs to a step that not each batch makes, and the statement it
    belongs before: in the `if` below, or in the function that makes the step.
    """
    moved: list[ast.stmt] = []
    for other in block[block.index(statement) :]:
        names = [get_called_name(part) for part in ast.walk(other)]
        if isinstance(other, ast.If) and "step" in names:
            return moved, other.body[0]
        moved.append(other)
    for node in text.nodes:
        own = getattr(node, "body", []) if isinstance(node, ast.FunctionDef) else []
        for other in own if statement not in own else ():
            called = getattr(other, "value", None)
            if get_called_name(called) in STEPPING if called is not None else False:
                return [statement], other
    return None


STEPPING = ("clip_grad_norm_", "clip_grad_value_", "step")


# -- a metric that is not given --------------------------------------------------------


def _explain_metric(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain that `ReduceLROnPlateau` is told what it watches at each step."""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return None
    message = (
        "`ReduceLROnPlateau` lowers the rate when a number stops falling: its `step`"
        " takes that number, such as the loss of the validation"
    )
    scope = text.around(node, *LOOPS, ast.FunctionDef) or text.tree
    names: dict[str, None] = {}
    for target, _ in iter_assignments(scope, before=node.lineno):
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and WATCHED.search(part.id.lower()):
                names.setdefault(part.id)
    ranked = sorted(names, key=lambda name: ("loss" in name) - 2 * _is_validated(name))
    end = text.span(node)
    place = Span(
        end.file, end.end_line, end.end_column - 1, end.end_line, end.end_column - 1
    )
    fixes = [Fix("fits", f"`step({name})`", (Edit(place, name),)) for name in ranked]
    return Explanation(message, (), tuple(fixes[:MOST]))


def _is_validated(name: str) -> bool:
    """Return whether a name speaks of a validation."""
    return any(part in name.lower() for part in ("va", "dev", "test"))
