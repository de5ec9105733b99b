"""Outputs of a library's model that are `None`, as the call did not ask for them: a
loss without labels, hidden states; models that ask for targets; saved states.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

NONE = re.compile(r"'NoneType'")
ASKED_FOR = {
    "hidden_states": "output_hidden_states=True",
    "attentions": "output_attentions=True",
    "past_key_values": "use_cache=True",
}
"""Outputs of models of transformers, and the argument that asks for each."""
LABELS = ("labels", "label", "targets", "target", "y")


def find_missing_output(program: Program, finding: Finding) -> Explanation | None:
    """Return which output of a model is None, and what asks for it, or None."""
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None or not NONE.search(finding.words):
        return None
    for node in text.nodes:
        if not isinstance(node, ast.expr) or node.lineno != span.line:
            continue
        value = find_known_value(text, node) if isinstance(node, ast.Name) else node
        if isinstance(value, ast.Subscript):
            value = value.value
        if not isinstance(value, ast.Attribute):
            continue
        call = find_known_value(text, value.value)
        if not isinstance(call, ast.Call):
            continue
        if value.attr in ASKED_FOR:
            word = ASKED_FOR[value.attr]
            message = f"`{text.written(value)}` is None: the call did not ask for it"
            where = Related(text.span(call), "the model is called here")
            return Explanation(message, (where,), (with_keyword(text, call, word),))
        if value.attr == "pooler_output":
            return _explain_pooler(program, text, value)
        if value.attr == "loss":
            return _explain_loss(program, text, value, call)
    return None


def _explain_pooler(
    program: Program, text: SourceText, value: ast.Attribute
) -> Explanation | None:
    """Return that a model was built without the layer that pools its tokens."""
    for own in program.own_texts():
        for word in own.nodes:
            if not isinstance(word, ast.keyword) or word.arg != "add_pooling_layer":
                continue
            if not isinstance(word.value, ast.Constant) or word.value.value:
                continue
            message = (
                f"`{text.written(value)}` is None: the model is built with"
                " `add_pooling_layer=False`; the first token has its own state"
            )
            new = f"{text.written(value.value)}.last_hidden_state[:, 0]"
            edit = Edit(text.span(value), new)
            where = Related(own.span(word.value), "the model is built here")
            return Explanation(message, (where,), (Fix("fits", f"`{new}`", (edit,)),))
    return None


def _explain_loss(
    program: Program, text: SourceText, value: ast.Attribute, call: ast.Call
) -> Explanation | None:
    """Return that a model without labels computes no loss."""
    if any(word.arg == "labels" for word in call.keywords):
        return None
    written = text.written(value)
    message = f"`{written}` is None: without `labels` the model computes no loss"
    where = Related(text.span(call), "the model gets no labels here")
    for word in call.keywords:
        if word.arg is None:  # `**batch`
            return _explain_popped(text, call, text.written(word.value), message)
        if not isinstance(word.value, ast.Subscript):
            continue
        base = text.written(word.value.value)
        key = _find_label_key(program)
        if key:
            fix = with_keyword(text, call, f'labels={base}["{key}"]')
            return Explanation(message, (where,), (fix,))
    named = _find_label_name(text, call) or _write_label_part(program, text, call)
    if named:
        fix = with_keyword(text, call, f"labels={named}")
        return Explanation(message, (where,), (fix,))
    names = {part.id for part in text.nodes if isinstance(part, ast.Name)}
    fixes = tuple(
        with_keyword(text, call, f"labels={name}") for name in LABELS if name in names
    )
    return Explanation(message, (where,), fixes[:1])


def _explain_popped(
    text: SourceText, call: ast.Call, batch: str, message: str
) -> Explanation:
    """Return that the labels were taken out of a batch before the call."""
    scope = text.around(call, ast.For, *FUNCTIONS) or text.tree
    for node in ast.walk(scope) if scope is not None else ():
        if get_called_name(node) != "pop" or not isinstance(node, ast.Call):
            continue
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        key = node.args[0] if node.args else None
        word = key.value if isinstance(key, ast.Constant) else None
        if owner is None or text.written(owner) != batch or word not in LABELS:
            continue
        holder = text.parent(node)
        target = holder.targets[0] if isinstance(holder, ast.Assign) else None
        if isinstance(target, ast.Name) and node.lineno < call.lineno:
            where = Related(text.span(node), "the labels are taken out here")
            fix = with_keyword(text, call, f"labels={target.id}")
            return Explanation(message, (where,), (fix,))
        if word != "labels":
            continue
        new = f'{batch}["labels"]'
        where = Related(text.span(node), "the labels are taken out of the batch here")
        fix = Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
        return Explanation(message, (where,), (fix,))
    where = Related(text.span(call), "the model gets no labels here")
    named = _find_label_name(text, call)
    fixes = (with_keyword(text, call, f"labels={named}"),) if named else ()
    return Explanation(message, (where,), fixes)


def _find_label_name(text: SourceText, call: ast.Call) -> str:
    """Return the name or part of a batch that holds the labels above a call in its
    loop: a variable of the loop, or what a statement takes out of the batch.
    """
    scope = text.around(call, ast.For, *FUNCTIONS)
    written = [
        node.id
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.lineno <= call.lineno
    ]
    return next((name for name in LABELS if name in written), "")


def _write_label_part(program: Program, text: SourceText, call: ast.Call) -> str:
    """Return the labels of the batch that a call is given parts of by key:
    `batch["labels"]`; nothing where no item has such a key.
    """
    for argument in call.args:
        for part in ast.walk(argument):
            key = part.slice if isinstance(part, ast.Subscript) else None
            if isinstance(part, ast.Subscript) and isinstance(key, ast.Constant):
                label = _find_label_key(program) if isinstance(key.value, str) else ""
                if label and isinstance(part.value, ast.Name):
                    return f'{part.value.id}["{label}"]'
    return ""


def _find_label_key(program: Program) -> str:
    """Return the key of a data set's items that holds the labels."""
    keys = {
        key.value
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    }
    return next((name for name in LABELS if name in keys), "")


MODE = "targets should not be none when in training mode"


def find_missing_targets(program: Program, finding: Finding) -> Explanation | None:
    """Return that a detector in training takes images and targets, or None."""
    place = program.node(finding.span)
    if MODE not in finding.words.lower() or place is None:
        return None
    text, node = place
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    call = next((part for part in calls if len(part.args) == 1), None)
    if call is None:
        return None
    name = text.written(call.func)
    message = (
        f"`{name}` is in training, where it takes the images and their targets and"
        " returns losses; in evaluation it takes images and returns boxes"
    )
    scope = text.around(node, ast.For, ast.FunctionDef)
    names = {
        part.id
        for part in (ast.walk(scope) if scope is not None else text.nodes)
        if isinstance(part, ast.Name)
    }
    fixes = []
    first = text.written(call.args[0])
    for target in ("targets", "target", "labels", "annotations"):
        if target in names:
            new = f"{name}({first}, {target})"
            fixes = [Fix("fits", f"`{new}`", (Edit(text.span(call), new),))]
            break
    return Explanation(message, (), tuple(fixes))


HALF = "Attempting to unscale FP16 gradients"


def find_halved_model(program: Program, finding: Finding) -> Explanation | None:
    """Return that a scaler needs weights in float32, and who made them halves."""
    if HALF not in finding.words:
        return None
    edits: list[Edit] = []
    where: list[Related] = []
    shown = ""
    for text in program.own_texts():
        for node in text.nodes:
            if get_called_name(node) != "half" or not isinstance(node, ast.Call):
                continue
            if not isinstance(node.func, ast.Attribute) or node.args:
                continue
            shown = shown or f"`{text.written(node.func.value)}` without `.half()`"
            where.append(Related(text.span(node), "it is made float16 here"))
            end = text.owner_span(node.func).end
            edits.append(Edit(end.until(text.span(node).end), ""))
    if not edits:
        return None
    message = (
        "a scaler scales the loss of weights in float32, which autocast makes halves"
        " for each call: these weights are float16 themselves"
    )
    more = f", and {len(edits) - 1} more" if len(edits) > 1 else ""
    fix = Fix("fits", f"{shown}{more}", tuple(edits))
    return Explanation(message, tuple(where[:2]), (fix,))


SAVED = re.compile(r"Weights only load failed|makes tensors and plain values only")


def find_uncalled_state(program: Program, finding: Finding) -> Explanation | None:
    """Return that a method was saved where its result was meant, or None."""
    if not SAVED.search(finding.words):
        return None
    for text in program.own_texts():
        for call in text.nodes:
            if get_called_name(call) != "save" or not isinstance(call, ast.Call):
                continue
            for node in ast.walk(call):
                is_method = (
                    isinstance(node, ast.Attribute) and node.attr == "state_dict"
                )
                parent = text.parent(node)
                is_called = isinstance(parent, ast.Call) and parent.func is node
                if not is_method or is_called or not isinstance(node, ast.expr):
                    continue
                new = f"{text.written(node)}()"
                message = (
                    f"`{text.written(node)}` without parentheses is the method: it was"
                    " saved with its model, and not the weights"
                )
                where = Related(text.span(node), "it is saved here")
                fix = Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
                return Explanation(message, (where,), (fix,))
    return None


OF_STATE = re.compile(
    r"'(?:collections\.)?OrderedDict' object has no attribute '(\w+)'"
)


def find_state_as_model(program: Program, finding: Finding) -> Explanation | None:
    """Return that a file holds the weights of a model and not the model, or None."""
    refused = OF_STATE.search(finding.words)
    place = program.node(finding.span)
    if refused is None or place is None:
        return None
    text, node = place
    for part in ast.walk(node):
        if not isinstance(part, ast.Attribute) or part.attr != refused[1]:
            continue
        value = find_known_value(text, part.value)
        if get_called_name(value) != "load" or not isinstance(value, ast.Call):
            continue
        name = text.written(part.value)
        message = (
            f"`{name}` is a state dict: the file holds weights by name and no model,"
            " which is built first and loads them"
        )
        where = Related(text.span(value), "the weights are read here")
        return Explanation(message, (where,), _build_model(program, text, value, name))
    return None


def _build_model(
    program: Program, text: SourceText, value: ast.Call, name: str
) -> tuple[Fix, ...]:
    """Return the edit that builds the program's only model before it loads."""
    statement = text.statement_of(value)
    built = {
        ast.unparse(node)
        for own in program.own_texts()
        for node in own.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and any(
            isinstance(kind, ast.ClassDef)
            and kind.name == node.func.id
            and any("Module" in ast.unparse(base) for base in kind.bases)
            for kind in own.nodes
        )
    }
    if len(built) != 1 or not isinstance(statement, ast.Assign):
        return ()
    indent = text.lines[statement.lineno - 1][: statement.col_offset]
    model = built.pop()
    new = f"{name} = {model}\n{indent}{name}.load_state_dict({text.written(value)})"
    shown = f"`{name} = {model}`, which loads it"
    return (Fix("fits", shown, (Edit(text.span(statement), new),)),)
