"""What metrics and splits of scikit-learn refuse: an average of several classes that
nobody chose, fewer predictions than labels, a class of one sample.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

AVERAGE = re.compile(r"Target is (multi[\w-]+) but average='binary'")
LENGTHS = re.compile(r"inconsistent numbers of samples: \[(\d+), (\d+)\]")
OF_BATCHES = re.compile(r"multiclass-multioutput|inhomogeneous|Found input variables")
SINGLE = re.compile(r"least populated class(?:es)? in y ha(?:s|ve) only 1 member")
MEMBERS = re.compile(r"too few members are: \[(.+?)\]")
AVERAGED = frozenset({
    "precision_score", "recall_score", "f1_score", "fbeta_score", "jaccard_score",
    "precision_recall_fscore_support",
})  # fmt: skip
"""Scores that are of two classes unless they are told how to average."""


SEVERAL = ("macro", "weighted", "micro")
"""Averages over several classes."""


def find_refused_metric(program: Program, finding: Finding) -> Explanation | None:
    """Return why a metric or a split of scikit-learn refuses its labels, or None."""
    average = AVERAGE.search(finding.words)
    if average is not None:
        return _explain_average(program, finding, average[1])
    lengths = LENGTHS.search(finding.words)
    if lengths is not None:
        return _explain_lengths(program, finding, int(lengths[1]), int(lengths[2]))
    if OF_BATCHES.search(finding.words):
        return _explain_batches(program, finding)
    if SINGLE.search(finding.words):
        return _explain_single(program, finding)
    return None


def _explain_batches(program: Program, finding: Finding) -> Explanation | None:
    """Return that a metric is given lists of the arrays of batches."""
    for text, call in program.iter_calls(finding):
        lists = [
            part
            for part in call.args[:2]
            if isinstance(part, ast.Name) and _is_list_of_arrays(text, part.id)
        ]
        if len(lists) < 2:
            continue
        shown = " and ".join(f"`{part.id}`" for part in lists)
        message = f"{shown} are lists with an array of each batch: joined they are rows"
        edits = tuple(
            Edit(text.span(part), f"np.concatenate({part.id})") for part in lists
        )
        new = " and ".join(f"`{edit.text}`" for edit in edits)
        fixes = (Fix("fits", new, edits),) if "import numpy as np" in text.text else ()
        return Explanation(message, (), fixes)
    return None


def _is_list_of_arrays(text: SourceText, name: str) -> bool:
    """Return whether a file appends arrays to a list."""
    return any(
        isinstance(node, ast.Call)
        and text.written(node.func) == f"{name}.append"
        and ".numpy()" in text.written(node)
        for node in text.nodes
    )


def _explain_average(program: Program, finding: Finding, kind: str) -> Explanation:
    """Return that a score of several classes is told how to average over them."""
    message = f"the labels are {kind}, and the score is of two classes by default:"
    message += ' `average="macro"` is the mean over the classes'
    for text, call in program.iter_calls(finding):
        if get_called_name(call) not in AVERAGED:
            continue
        written = text.written(call.func)
        message = message.replace("the score", f"`{written}`")
        calls = list(_iter_calls_alike(text, call))
        chosen = next(iter(_iter_averages(text)), '"macro"')
        message = message.replace('"macro"', chosen)
        if chosen != '"macro"':
            message = message.replace(" is the mean over the classes", " is used here")
        parts = [_write_average(text, part, chosen) for part in calls]
        more = f", and {len(parts) - 1} more" if len(parts) > 1 else ""
        edits = tuple(edit for part in parts for edit in part.edits)
        fix = Fix("fits", f"{parts[0].message}{more}", edits)
        return Explanation(message, (), (fix,))
    return Explanation(message, (), ())  # no other data would be meant


def _iter_calls_alike(text: SourceText, call: ast.Call) -> Iterator[ast.Call]:
    """Yield a call and those of the same function whose scores of the same arguments
    are not told how to average either.
    """
    scope = text.around(call, *FUNCTIONS)
    written = [text.written(part) for part in call.args]
    yield call
    for node in text.nodes:
        if node is call or get_called_name(node) not in AVERAGED:
            continue
        if not isinstance(node, ast.Call) or text.around(node, *FUNCTIONS) is not scope:
            continue
        words = [word.arg for word in node.keywords]
        is_alike = [text.written(part) for part in node.args] == written
        if is_alike and "average" not in words and None not in words:
            yield node


def _iter_averages(text: SourceText) -> Iterator[str]:
    """Yield the averages over classes that other scores of a file are told."""
    for node in text.nodes:
        if get_called_name(node) not in AVERAGED or not isinstance(node, ast.Call):
            continue
        for word in node.keywords:
            value = word.value
            is_chosen = isinstance(value, ast.Constant) and value.value in SEVERAL
            if word.arg == "average" and is_chosen:
                yield text.written(value)


def _write_average(text: SourceText, call: ast.Call, chosen: str) -> Fix:
    """Return the edit that tells a score how to average."""
    for word in call.keywords:
        if word.arg == "average":
            edit = Edit(text.span(word.value), chosen)
            return Fix("fits", f"`average={chosen}`", (edit,))
    return with_keyword(text, call, f"average={chosen}")


def _explain_lengths(
    program: Program, finding: Finding, first: int, second: int
) -> Explanation | None:
    """Return which loader leaves the last samples out that a metric compares."""
    more, fewer = max(first, second), min(first, second)
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) != "DataLoader":
                continue
            words = {word.arg: word for word in call.keywords}
            last = words.get("drop_last")
            if last is None or not isinstance(last.value, ast.Constant):
                continue
            if not last.value.value or not _is_whole(text, call, more, fewer):
                continue
            message = (
                f"{first} samples are compared with {second}: `drop_last=True` leaves"
                f" the last {more - fewer} of {more} samples out"
            )
            where = Related(text.span(call), "the last batch is left out here")
            fix = Fix("fits", "without `drop_last=True`", (_cut_word(text, last),))
            return Explanation(message, (where,), (fix,))
    return None


def _is_whole(text: SourceText, call: ast.Call, more: int, fewer: int) -> bool:
    """Return whether the batches of a loader that are full have so many samples."""
    sizes = [word.value for word in call.keywords if word.arg == "batch_size"]
    sizes += call.args[1:2]
    size = evaluate_whole_number(find_known_value(text, sizes[0])) if sizes else None
    return bool(size) and size is not None and more // size * size == fewer < more


def _cut_word(text: SourceText, word: ast.keyword) -> Edit:
    """Return the edit that takes a keyword out of a call, with its comma."""
    end = text.span(word.value)
    column = text.column(word.lineno, word.col_offset)
    line = text.lines[word.lineno - 1]
    before = line[: column - 1]
    begin = len(before.rstrip().removesuffix(",")) + 1
    if not before.strip():  # alone on its line: with the comma behind it
        rest = text.lines[end.end_line - 1][end.end_column - 1 :]
        more = 1 if rest.startswith(",") else 0
        span = Span(text.file, word.lineno, column, end.end_line, end.end_column + more)
        return Edit(span, "")
    span = Span(text.file, word.lineno, begin, end.end_line, end.end_column)
    return Edit(span, "")


def _explain_single(program: Program, finding: Finding) -> Explanation:
    """Return that a class of one sample cannot be in both parts of a split."""
    members = MEMBERS.search(finding.words)
    labels = "the labels"
    fixes: tuple[Fix, ...] = ()
    for text, call in program.iter_calls(finding):
        for word in call.keywords:
            if word.arg == "stratify" and not fixes:
                labels = f"`{text.written(word.value)}`"
                fixes = tuple(_suggest_kept_classes(text, call, word.value))
    which = f": class {members[1]}" if members is not None else ""
    message = (
        f"`stratify` puts samples of each class into both parts, and {labels} has a"
        f" class of one sample{which}"
    )
    return Explanation(message, (), fixes)  # other counts would be other data


def _suggest_kept_classes(
    text: SourceText, call: ast.Call, labels: ast.expr
) -> Iterator[Fix]:
    """Suggest to leave classes of one sample out of a split of arrays."""
    names = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    parts = [*call.args, labels]
    is_plain = all(isinstance(part, ast.Name | ast.Attribute) for part in parts)
    if not is_plain or not call.args or "np" not in names or "kept" in names:
        return
    written = text.written(labels)
    new = f"kept = np.bincount({written})[{written}] >= 2"
    edits = [write_before(text, text.statement_of(call), new)]
    edits += [Edit(text.span(part).end, "[kept]") for part in parts]
    yield Fix("fits", f"`{new}`, by which the arrays are indexed", tuple(edits))
