"""Data sets without items, as the pattern by which files are looked for meets none, and
loaders without batches, as `drop_last=True` leaves out the only one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

EMPTY = "num_samples=0"
NOT_THERE = "Dataset not found. You can use download=True"
UNSET = re.compile(
    r"local variable '(\w+)' (?:where|referenced before)|name '(\w+)' is not defined"
)
NO_COUNT = re.compile(r"ZeroDivisionError`?: .*(?:division|modulo) by zero")
LOOKING = frozenset({"glob", "iglob", "rglob"})
MOST = 4
"""Patterns that are changed."""


def find_empty_data_set(program: Program, finding: Finding) -> Explanation | None:
    """Return which pattern found no files for a loader that shuffles nothing, or
    None.
    """
    if NOT_THERE in finding.words:
        return _explain_other_files(program, finding)
    if EMPTY not in finding.words:
        return None
    related: list[Related] = []
    fixes: list[Fix] = []
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) in LOOKING:
                shown = join_lines(text.written(node))
                related.append(Related(text.span(node), f"`{shown}` looks for files"))
                fixes += _iter_deeper(text, node)
    if not related or len(related) > MOST:
        return None
    message = (
        "the data set that is loaded has no items: no file was found for"
        f" {related[0].message.removesuffix(' looks for files')}"
    )
    return Explanation(message, tuple(related), tuple(fixes))


def _explain_other_files(program: Program, finding: Finding) -> Explanation | None:
    """Explain a data set of torchvision in whose folder there are other files."""
    names = [get_called_name(call) for _, call in program.iter_calls(finding)]
    name = next((name for name in names if name.endswith("MNIST")), "")
    if not name:
        return None
    message = (
        f"`{name}` reads the files of the original, in `{name}/raw`, and its folder"
        " holds others: images in a folder for each class are read by `ImageFolder`"
    )
    return Explanation(message)


def _iter_deeper(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Yield a search that goes one folder deeper: of `*.png`, that of `*/*.png`."""
    for node in ast.walk(call):
        value = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(value, str) or "*." not in value:
            continue
        assert isinstance(node, ast.Constant)
        written = text.written(node)
        at = written.find("*.")
        if at < 0 or written[at - 1] == "*" or "*/*." in written:
            continue
        new = f"{written[:at]}*/{written[at:]}"
        shown = join_lines(text.written(call)).replace(written, new, 1)
        yield Fix("fits", f"`{shown}`", (Edit(text.span(node), new),))
        return


def find_dropped_batches(program: Program, finding: Finding) -> Explanation | None:
    """Return that a loop over a loader had no turn, as `drop_last=True` leaves out a
    batch that the data do not fill, or None.
    """
    span, unset = finding.span, UNSET.search(finding.words)
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return None
    loop: ast.For | None = None
    if unset is not None:
        name = unset[1] or unset[2]
        loop = _find_only_loop(text, name, span.line)
        subject = f"`{name}` is set in the loop over"
    elif NO_COUNT.search(finding.words):
        count = _find_divisor(text, span.line)
        if count is None:
            return None
        subject = f"`{text.line_of(count)}` is 0"
        if isinstance(count, ast.Name):
            loop = _find_only_loop(text, count.id, span.line, is_counted=True)
            subject = f"`{count.id}` counts in the loop over"
    else:
        return None
    if (loop is None) != subject.endswith("is 0"):
        return None
    dropping = list(_iter_dropping(program))
    if not dropping:
        return None
    over = (
        f" `{text.line_of(loop.iter)}`, which had no turn" if loop is not None else ""
    )
    message = (
        f"{subject}{over}: with `drop_last=True` a loader has no batch where its data"
        " are fewer than `batch_size`"
    )
    related = [
        Related(own.span(call), "the loader is built here") for own, call, _ in dropping
    ]
    fixes = [
        Fix("fits", "`drop_last=False`", (Edit(own.span(value), "False"),))
        for own, _, value in dropping[:MOST]
    ]
    return Explanation(message, tuple(related[:2]), tuple(fixes))


def find_missing_rows(program: Program, finding: Finding) -> Explanation | None:
    """Return that predictions of a loader that drops its last batch are fewer than the
    rows of the table that they are put beside, or None.
    """
    if OTHER_LENGTH.search(finding.words) is None:
        return None
    for own, call, value in _iter_dropping(program):
        statement = own.statement_of(call)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Name) or not _is_collected(own, target.id):
            continue
        message = (
            f"`{target.id}` leaves out its last batch (`drop_last=True`), so there are"
            " fewer predictions than rows"
        )
        related = Related(own.span(call), "the loader is built here")
        fix = Fix("fits", "`drop_last=False`", (Edit(own.span(value), "False"),))
        return Explanation(message, (related,), (fix,))
    return None


OTHER_LENGTH = re.compile(
    r"All arrays must be of the same length|Length of values \(\d+\) does not match"
    r"|inconsistent numbers of samples|array length \d+ does not match index length"
)
"""What pandas and scikit-learn say of columns of several lengths."""


def _is_collected(text: SourceText, loader: str) -> bool:
    """Return whether a loop over a loader, which does not train, keeps what it gets;
    also in a function that is given the loader.
    """
    functions = {
        get_called_name(node)
        for node in text.nodes
        if isinstance(node, ast.Call)
        and any(isinstance(arg, ast.Name) and arg.id == loader for arg in node.args)
    }
    for loop in text.nodes:
        if not isinstance(loop, ast.For):
            continue
        scope = text.around(loop, *FUNCTIONS)
        names = {node.id for node in ast.walk(loop.iter) if isinstance(node, ast.Name)}
        is_over = loader in names or getattr(scope, "name", "") in functions
        called = {get_called_name(node) for node in ast.walk(loop)}
        if is_over and called & KEEPING and "backward" not in called:
            return True
    return False


KEEPING = frozenset({"append", "extend"})


def _iter_dropping(program: Program) -> Iterator[tuple[SourceText, ast.Call, ast.expr]]:
    """Yield the loaders that are built with `drop_last=True`, and the `True`."""
    for own in program.own_texts():
        for node in own.nodes:
            if not isinstance(node, ast.Call):
                continue
            if not get_called_name(node).endswith("DataLoader"):
                continue
            for word in node.keywords:
                value = word.value
                is_set = isinstance(value, ast.Constant) and value.value is True
                if word.arg == "drop_last" and is_set:
                    yield own, node, value


def _find_only_loop(
    text: SourceText, name: str, line: int, is_counted: bool = False
) -> ast.For | None:
    """Return the loop above a line in each turn of which a name is set, if nothing else
    sets it; `is_counted`: but to 0, above the loop.
    """
    at_line = [
        node for node in text.near(line) if isinstance(node, ast.expr | ast.stmt)
    ]
    scope = text.around(at_line[0], *FUNCTIONS) if at_line else None
    loops: list[ast.For] = []
    for node in text.nodes:
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        if (
            not isinstance(node.ctx, ast.Store)
            or text.around(node, *FUNCTIONS) is not scope
        ):
            continue
        statement = text.statement_of(node)
        around = text.parent(statement)
        is_start = isinstance(statement, ast.Assign) and not isinstance(around, ast.For)
        if is_counted and is_start:
            continue
        is_above = isinstance(around, ast.For) and (around.end_lineno or 0) < line
        if not isinstance(around, ast.For) or not is_above:
            return None
        loops.append(around)
    return loops[0] if loops and all(loop is loops[0] for loop in loops) else None


def _find_divisor(text: SourceText, line: int) -> ast.expr | None:
    """Return the number of batches by which a line divides, or None."""
    for node in text.nodes:
        divisor: ast.expr | None = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv):
            divisor = node.right
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            divisor = node.value
        if divisor is None or not divisor.lineno <= line <= (divisor.end_lineno or 0):
            continue
        if isinstance(divisor, ast.Name) or get_called_name(divisor) == "len":
            return divisor
    return None
