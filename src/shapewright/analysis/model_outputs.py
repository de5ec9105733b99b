"""Outputs of models that hold several tensors, as those of `transformers`: one that is
taken for a tensor, and `_, pooled = bert(ids)`, which unpacks its keys.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names, get_called_name
from shapewright.record.ops import ModuleCall

OF_TEXTS = re.compile(
    r"not str\b|'str' object|got str\b|'str' and|and 'str'|string indices must be|"
    r"values to unpack \(expected|unpacked-sizes"
)
"""In the message of an error that a text in place of a tensor leads to."""
MOST_KEYS = 4
FIELDS = frozenset({
    "logits", "loss", "last_hidden_state", "pooler_output", "hidden_states",
    "attentions", "past_key_values", "start_logits", "end_logits", "keys", "items",
    "values", "to_tuple",
})  # fmt: skip
"""What is read of such an output, not of a tensor."""


def find_unpacked_output(program: Program, finding: Finding) -> Explanation | None:
    """Return which statement unpacked the keys of an output, or None."""
    messages = finding.words
    place = program.node(finding.span)
    if place is None or not OF_TEXTS.search(messages):
        return None
    text, node = place
    names = collect_names(text.statement_of(node))
    unpacked = list(_iter_unpacked(program))
    near = [entry for entry in unpacked if entry[0].file == text.file]
    of_names = [entry for entry in near if names & collect_names(entry[1].targets[0])]
    if "to unpack" in messages:
        of_names = [entry for entry in of_names if entry[1] is text.statement_of(node)]
        unpacked = []
    chosen = (of_names or unpacked)[-1:]
    if not chosen:
        return None
    where, statement, call = chosen[0]
    keys = list(call.output)
    shown = ", ".join(f"`{key}`" for key in keys[:MOST_KEYS])
    written = where.line_of(statement.targets[0])
    kind = f"`{call.class_name}` returns an output like a dict, with the keys {shown}"
    message = f"{kind}: unpacking it gives `{written}` the keys, which are texts"
    related = (Related(where.span(statement), "it is unpacked here"),)
    is_own = any(own.definitions(call.class_name) for own in program.own_texts())
    fixes = tuple(_suggest_values(where, statement, keys, is_own))
    return Explanation(message, related, fixes)


def _iter_unpacked(
    program: Program,
) -> Iterator[tuple[SourceText, ast.Assign, ModuleCall]]:
    """Yield the statements that unpack what the call of a module returned as a dict."""
    calls: dict[int, ModuleCall] = {}
    for call in program.trace.calls:
        if call.span is None or is_installed(call.span.file):
            continue
        place = program.call_at(call.span)
        if place is not None:
            outer = calls.setdefault(id(place[1]), call)
            if call.depth < outer.depth:
                calls[id(place[1])] = call
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign):
                continue
            if not isinstance(node.targets[0], ast.Tuple | ast.List):
                continue
            source: ast.expr | None = node.value
            if isinstance(source, ast.Name):
                above = find_defining(text, source.id)
                source = next((v for v in above[::-1] if v.lineno < node.lineno), None)
            returned = calls.get(id(source))
            if returned is not None and isinstance(returned.output, dict):
                yield text, node, returned


def _suggest_values(
    text: SourceText, statement: ast.Assign, keys: list[str], is_own: bool
) -> Iterator[Fix]:
    """Suggest the value that is read later, or all of them where several are."""
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    scope = text.around(statement, *FUNCTIONS) or text.tree
    reads = collect_names(scope, ast.Load) if scope is not None else set()
    is_read = [
        not isinstance(part, ast.Name) or (part.id in reads and part.id != "_")
        for part in parts
        if not isinstance(part, ast.Starred)
    ]
    written, end = text.line_of(statement.value), text.span(statement.value).end
    if is_read.count(True) == 1 and is_read.index(True) < len(keys):
        at = is_read.index(True)
        name = text.written(parts[at])
        for form in ('["{}"]',) if is_own else (".{}", '["{}"]'):
            value = form.format(keys[at])
            edits = (Edit(text.span(target), name), Edit(end, value))
            yield Fix("fits", f"`{name} = {written}{value}`", edits)
        return
    few = f"[:{len(parts)}]" if len(parts) < len(keys) else ""
    plain = f"list({written}.values()){few}" if few else f"{written}.values()"
    listed = Fix("fits", f"`{plain}`", (Edit(text.span(statement.value), plain),))
    if not is_own:
        value = f".to_tuple(){few}"
        yield Fix("fits", f"`{written}{value}`", (Edit(end, value),))
    yield listed


# -- an output in place of a tensor ----------------------------------------------------


def explain_output(text: SourceText, value: ast.expr, kind: str) -> Explanation | None:
    """Explain an object with several tensors, as models of `transformers` return it."""
    shown = text.line_of(value)
    of_states = kind.startswith("BaseModel") or "Encoder" in kind
    names = ["last_hidden_state" if of_states else "logits"]
    if "Pooling" in kind:
        names.insert(0, "pooler_output")
    if "QuestionAnswering" in kind:
        names = ["start_logits", "end_logits"]
    used = text.parent(value)
    if isinstance(used, ast.Attribute) and used.attr in ("backward", "item"):
        names = ["loss"]
    form = ".{}"
    if kind.endswith(("Dict", "dict")):  # as segmentation models of torchvision return
        names, form = ["out", "logits"], '["{}"]'
    message = (
        f"`{shown}` is a `{kind}`, and no tensor: it holds"
        f" {' and '.join(f'`{name}`' for name in names)}"
    )
    if form != ".{}":
        message = f"`{shown}` is a dict of tensors, such as `{names[0]}`, and no tensor"
    back = _find_returned(text, value)
    fixes = [
        Fix("fits", f"`return {text.line_of(back)}{part}`", (edit,))
        for part in map(form.format, names)
        if back is not None
        for edit in (Edit(text.span(back).end, part),)
    ]
    here = [
        Fix("fits", f"`{shown}{part}`", (Edit(text.span(value).end, part),))
        for part in map(form.format, names)
    ]
    source = _find_only_source(text, value)
    if source is not None:
        above = [
            Fix(
                "fits",
                f"`{shown} = {text.line_of(source)}{part}`",
                (Edit(text.span(source).end, part),),
            )
            for part in map(form.format, names)
        ]
        here = [*above, *here]
    fixes += here
    return Explanation(message, (), tuple(fixes))


def _find_returned(text: SourceText, value: ast.expr) -> ast.expr | None:
    """Return what the function of the file that made a value returns, if it is a name
    or a call.
    """
    sources = find_defining(text, text.written(value)) or [value]
    called = get_called_name(sources[-1])
    for _, function in text.functions(called) if called else ():
        last = function.body[-1]
        back = last.value if isinstance(last, ast.Return) else None
        if isinstance(back, ast.Name | ast.Call):
            return back
    return None


def _find_only_source(text: SourceText, value: ast.expr) -> ast.expr | None:
    """Return the call whose output a name holds, or its other name, where the name is
    set once and each of several reads takes it for a tensor.
    """
    if not isinstance(value, ast.Name):
        return None
    scope = text.around(value, *FUNCTIONS) or text.tree
    nodes = list(ast.walk(scope)) if scope is not None else []
    uses = [
        node for node in nodes if isinstance(node, ast.Name) and node.id == value.id
    ]
    reads = [node for node in uses if isinstance(node.ctx, ast.Load)]
    sources = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign) and node.targets[0] in uses
    ]
    holders = [text.parent(node) for node in reads]
    if len(reads) < 2 or len(uses) != len(reads) + 1 or len(sources) != 1:
        return None
    if any(
        isinstance(holder, ast.Subscript)
        or (isinstance(holder, ast.Attribute) and holder.attr in FIELDS)
        for holder in holders
    ):
        return None
    return sources[0] if isinstance(sources[0], ast.Call | ast.Name) else None
