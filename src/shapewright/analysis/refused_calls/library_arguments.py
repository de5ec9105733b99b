"""What modules and functions of torch refuse of what they are given: a decoder without
a memory, a list for a scripted model, dicts for `update_bn`, a window that begins at 0,
a random draw inside `vmap`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_iterated,
    get_last_name,
    iter_assignments,
)

NO_MEMORY = re.compile(
    r"(TransformerDecoder(?:Layer)?)\.forward\(\) missing .*argument: 'memory'"
)
SCRIPTED = re.compile(
    r"(\w+)\(\) Expected a value of type 'Tensor(?: \(inferred\))?' for argument"
    r" '(\w+)' but instead found type '(\w+)'"
)
WINDOW = re.compile(r"istft\(.*window overlap add min")
UPDATE = "update_bn"
RANDOM = "vmap: called random operation while in randomness error mode"


def find_library_argument(program: Program, finding: Finding) -> Explanation | None:
    """Return what a module or a function of torch is to be given, or None."""
    words, place = finding.words, program.call_at(finding.span)
    decoder = NO_MEMORY.search(words)
    if decoder is not None and place is not None:
        return _explain_memory(program, *place, decoder[1])
    scripted = SCRIPTED.search(words)
    if scripted is not None:
        return _explain_script(program, scripted, words)
    if WINDOW.search(words) and place is not None:
        return _explain_window(program)
    if "NotImplementedError" in words and place is not None:
        return _explain_entropy(*place)
    if RANDOM in words:
        return _explain_random_call(program)
    return _explain_updated_norms(program, finding)


# -- a decoder without an encoder ------------------------------------------------------

RENAMED = {
    "tgt": "src",
    "tgt_mask": "mask",
    "tgt_key_padding_mask": "src_key_padding_mask",
    "tgt_is_causal": "is_causal",
}
"""Arguments of a decoder, and what an encoder calls them."""
DECODER = re.compile(r"TransformerDecoder(Layer)?$")


def _explain_memory(
    program: Program, text: SourceText, call: ast.Call, kind: str
) -> Explanation:
    """Explain a decoder that is called as the whole of a model."""
    message = (
        f"`nn.{kind}` is the decoder of an encoder-decoder model and attends to the"
        " `memory` of the encoder: a model of a decoder alone, such as GPT, is an"
        " `nn.TransformerEncoder` with a causal mask"
    )
    related: list[Related] = []
    edits: list[Edit] = []
    for own in program.own_texts():
        for node in own.nodes:
            if isinstance(node, ast.Call) and DECODER.match(get_called_name(node)):
                related.append(Related(own.span(node), "it is built here"))
                end = own.span(node.func).end
                length = len(get_called_name(node))
                edits.append(_rename_class(end, length, get_called_name(node)))
            elif isinstance(node, ast.alias) and DECODER.match(node.name):
                start = own.column(node.lineno, node.col_offset) + len(node.name)
                end = Span(own.file, node.lineno, start, node.lineno, start)
                edits.append(_rename_class(end, len(node.name), node.name))
    called = text.written(call.func)
    for node in text.nodes:
        if isinstance(node, ast.Call) and text.written(node.func) == called:
            new = _rename_words(text, node, kind)
            if new is None:
                return Explanation(message, tuple(related))
            edits += new
    is_built = any("TransformerEncoder" in own.text for own in program.own_texts())
    if is_built or not related:
        return Explanation(message, tuple(related))
    shown = f"`nn.{kind.replace('Decoder', 'Encoder')}` with `mask`"
    return Explanation(message, tuple(related), (Fix("fits", shown, tuple(edits)),))


def _rename_class(end: Span, length: int, name: str) -> Edit:
    """Return the edit that names the encoder in place of the decoder."""
    span = replace(end, column=end.column - length)
    return Edit(span, name.replace("Decoder", "Encoder"))


def _rename_words(text: SourceText, call: ast.Call, kind: str) -> list[Edit] | None:
    """Return the edits of the arguments of a call, or None for one with a memory."""
    edits = []
    if len(call.args) > 1:
        return None
    for word in call.keywords:
        if word.arg is None or word.arg.startswith("memory"):
            return None
        new = RENAMED.get(word.arg)
        if new == "mask" and kind.endswith("Layer"):
            new = "src_mask"
        if new is not None:
            column = text.column(word.lineno, word.col_offset)
            end = column + len(word.arg)
            span = Span(text.file, word.lineno, column, word.lineno, end)
            edits.append(Edit(span, new))
    return edits


# -- arguments of scripted models ------------------------------------------------------

PLAIN = {"int", "float", "bool", "str"}


def _explain_script(
    program: Program, scripted: re.Match[str], words: str
) -> Explanation:
    """Explain an argument of a scripted function that has no annotation."""
    name, argument, kind = scripted.groups()
    message = (
        "TorchScript takes an argument without an annotation for a tensor, and"
        f" `{argument}` of `{name}` is given a value of type `{kind}`"
    )
    related: list[Related] = []
    fixes: list[Fix] = []
    for text in program.own_texts():
        for _, function in text.functions(name):
            arguments = function.args
            named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            for parameter in named:
                if parameter.arg != argument or parameter.annotation is not None:
                    continue
                column = text.column(parameter.lineno, parameter.col_offset)
                end = column + len(argument)
                span = Span(text.file, parameter.lineno, column, parameter.lineno, end)
                related.append(Related(span, f"`{argument}` has no annotation here"))
                for new in _iter_annotations(text, kind, words):
                    edit = Edit(span.end, f": {new}")
                    fixes.append(Fix("fits", f"`{argument}: {new}`", (edit,)))
    return Explanation(message, tuple(related), tuple(fixes))


def _iter_annotations(text: SourceText, kind: str, words: str) -> Iterator[str]:
    """Yield the annotations that a value of some type may have."""
    if kind in PLAIN:
        yield kind
    if kind != "list":
        return
    imported = [
        alias.name
        for node in text.nodes
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        for alias in node.names
    ]
    word = "List" if "List" in imported else "list"
    value = re.search(r"Value: \[([^,\]]*)", words)
    items = ["int", "float", "torch.Tensor", "str", "bool"]
    if value is not None:
        items = [_get_item_kind(value[1].strip())]
    for item in items:
        yield f"{word}[{item}]"


def _get_item_kind(written: str) -> str:
    """Return the type of an item as it is written in a message."""
    if written.startswith("tensor("):
        return "torch.Tensor"
    if written in ("True", "False"):
        return "bool"
    if written.startswith(("'", '"')):
        return "str"
    return "int" if re.fullmatch(r"-?\d+", written) else "float"


# -- spectra ---------------------------------------------------------------------------

CENTER_AT = 5
"""The place of `center` among the arguments of `torch.stft` and `torch.istft`."""


def _explain_window(program: Program) -> Explanation | None:
    """Explain an inverse transform that begins where the window is 0."""
    edits = []
    related = []
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call):
                continue
            name = get_called_name(call)
            if name not in ("stft", "istft"):
                continue
            values = [word.value for word in call.keywords if word.arg == "center"]
            is_method = get_dotted_name(call.func).partition(".")[0] != "torch"
            values += call.args[CENTER_AT - is_method : CENTER_AT - is_method + 1]
            for value in values:
                if isinstance(value, ast.Constant) and value.value is False:
                    edits.append(Edit(text.span(value), "True"))
                    related.append(Related(text.span(value), f"of `{name}`"))
    if not edits:
        return None
    message = (
        "with `center=False` the first and the last samples lie under the ends of the"
        " window, which are 0: `istft` cannot divide by them"
    )
    both = " in `stft` and `istft`" if len(edits) > 1 else ""
    fix = Fix("fits", f"`center=True`{both}", tuple(edits))
    return Explanation(message, tuple(related), (fix,))


# -- entropies -------------------------------------------------------------------------


def _explain_entropy(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain the entropy of a distribution that has no formula for it."""
    if get_called_name(call) != "entropy" or not isinstance(call.func, ast.Attribute):
        return None
    if call.args or call.keywords:
        return None
    owner = text.written(call.func.value)
    message = (
        f"the entropy of `{owner}` has no formula, as of a transformed distribution or"
        " a mixture: it is estimated as the mean of `-log_prob` of its samples"
    )
    scope = text.around(call, *FUNCTIONS) or text.tree
    samples = [f"{owner}.rsample()"]
    for target, value in iter_assignments(scope, before=call.lineno):
        is_sample = get_called_name(value) == "rsample"
        if is_sample and isinstance(value, ast.Call) and get_dotted_name(target):
            of = value.func.value if isinstance(value.func, ast.Attribute) else None
            if of is not None and text.written(of) == owner:
                samples.insert(0, text.written(target))
    fixes = []
    parent = text.parent(call)
    is_plain = not isinstance(parent, ast.BinOp) or isinstance(
        parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div
    )
    if isinstance(parent, ast.Attribute):
        is_plain = parent.attr in ("mean", "sum")
    for sample in samples[:2]:
        new = f"-{owner}.log_prob({sample})"
        new = new if is_plain else f"({new})"
        edit = Edit(text.span(call), new)
        fixes.append(Fix("fits", f"`{join_lines(new)}`", (edit,)))
    return Explanation(message, (), tuple(fixes))


# -- statistics of averaged models -----------------------------------------------------


def _explain_updated_norms(program: Program, finding: Finding) -> Explanation | None:
    """Explain `update_bn(loader, model)` of a loader whose batches are more than the
    inputs of the model.
    """
    if not any(UPDATE in own.text for own in program.own_texts()):
        return None
    place = _find_update(program, finding)
    if place is None or not place[1].args:
        return None
    text, call = place
    loader = call.args[0]
    written = text.written(loader)
    reading = _find_reading(program, written)
    if reading is None:
        return None
    target, value = reading
    message = (
        f"`update_bn` gives the model each batch of `{written}`, or the first part of"
        f" it, where the training gives it `{value}`"
    )
    new = f"({value} for {target} in {written})"
    fix = Fix("fits", f"`update_bn({new}, ...)`", (Edit(text.span(loader), new),))
    related = (Related(text.span(call), "the statistics are computed again here"),)
    return Explanation(message, related, (fix,))


def _find_update(
    program: Program, finding: Finding
) -> tuple[SourceText, ast.Call] | None:
    """Return the call of `update_bn` during which an error came."""
    spans = [place.span for place in finding.related]
    spans += [finding.span] if finding.span is not None else []
    for failure in program.failures:
        op = program.trace.ops[failure.op]
        if op.span == finding.span:
            spans += [frame.span for frame in op.frames]
    for span in spans:
        place = program.call_at(span)
        if place is not None and get_called_name(place[1]) == UPDATE:
            return place
    return None


def _find_reading(program: Program, loader: str) -> tuple[str, str] | None:
    """Return the target of the loop that trains, and what of a batch the model gets,
    where that is not its first part.
    """
    loops = [
        (text, loop)
        for text in program.own_texts()
        for loop in text.nodes
        if isinstance(loop, ast.For)
        and any(get_called_name(node) == "backward" for node in ast.walk(loop))
        and not any(isinstance(part, ast.For) for part in loop.body)
    ]
    loops.sort(key=lambda pair: pair[0].written(get_iterated(pair[1].iter)) != loader)
    for text, loop in loops:
        target = loop.target
        if get_called_name(loop.iter) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[-1]
        values = {
            get_dotted_name(name): value
            for name, value in iter_assignments(loop, unpacked=True)
        }
        for node in ast.walk(loop):
            if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
                continue
            part = _strip_moves(node.args[0])
            if isinstance(part, ast.Name) and part.id in values:
                part = _strip_moves(values[part.id])
            if isinstance(target, ast.Name) and isinstance(part, ast.Subscript):
                is_first = (
                    isinstance(part.slice, ast.Constant) and part.slice.value == 0
                )
                if get_last_name(part.value) == target.id and not is_first:
                    return target.id, text.written(part)
            if isinstance(target, ast.Tuple) and isinstance(part, ast.Name):
                names = [get_last_name(item) for item in target.elts]
                if part.id in names[1:]:
                    return text.written(target).strip("()"), part.id
    return None


def _strip_moves(node: ast.expr) -> ast.expr:
    """Return what is moved to a device or cast: `x` of `x.to(device).float()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in ("to", "cuda", "float"):
            break
        node = node.func.value
    return node


# -- a draw inside `vmap` --------------------------------------------------------------


def _explain_random_call(program: Program) -> Explanation | None:
    """Explain a dropout or another draw inside `vmap`, with a draw for each sample."""
    related: list[Related] = []
    fixes: list[Fix] = []
    for text in program.own_texts():
        for node in text.nodes:
            is_vmap = isinstance(node, ast.Call) and get_called_name(node) == "vmap"
            if not is_vmap or not isinstance(node, ast.Call):
                continue
            if any(word.arg in ("randomness", None) for word in node.keywords):
                continue
            related.append(Related(text.span(node), "the function is mapped here"))
            fixes.append(with_keyword(text, node, 'randomness="different"'))
    if not related:
        return None
    message = (
        "a function inside `vmap` draws random numbers, such as a dropout in training:"
        ' `randomness="different"` draws for each sample, `"same"` once for all'
    )
    return Explanation(message, tuple(related), tuple(fixes))
