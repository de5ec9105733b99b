"""Keys that an output of a model lacks: `outputs["aux"]` of a model that was built
without the flag under which it adds them.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_own_attribute,
    iter_assignments,
)
from shapewright.record.ops import ModuleCall

WORDS = {"aux": "aux_loss=True"}
"""Keys of the outputs of torchvision's models, with the word of the function
that builds a model with them.
"""
OF_CALLS = {
    "attentions": "output_attentions=True",
    "hidden_states": "output_hidden_states=True",
}
"""Keys of the outputs of transformers, with the word of the call that gives them."""
BUILDERS = ("deeplabv3_", "fcn_")
MOST = 6


def find_missing_key(program: Program, finding: Finding) -> Explanation | None:
    """Return which keys the output of a model has in place of the one that was read."""
    place = program.node(finding.span)
    if "KeyError" not in finding.words or place is None:
        return None
    text, node = place
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    key, name = node.slice.value, text.written(node.value)
    call = _find_call(program, text, node)
    if call is None:
        return _explain_state(program, text, node) if isinstance(key, str) else None
    if not isinstance(key, str) or key in call.output:
        return None
    keys = [str(other) for other in call.output]
    shown = ", ".join(f"`{other}`" for other in keys[:MOST]) or "none"
    message = f"`{name}` has no key `{key}`: `{call.class_name}` gives {shown}"
    related: list[Related] = []
    fixes: list[Fix] = []
    for own, kind in _iter_classes(program, call.class_name):
        for condition, word in _iter_flags(own, kind, key):
            related.append(Related(own.span(condition), f"`{key}` is added under this"))
            fixes += _write_flags(program, call.class_name, kind, word)
    fixes += _add_word(program, key)
    for other in difflib.get_close_matches(key, keys, 1):
        new = node.slice, repr(other).replace("'", '"')
        edit = Edit(text.span(new[0]), new[1])
        fixes.append(Fix("fits", f"`{name}[{new[1]}]`", (edit,)))
    if call.span is not None and key in OF_CALLS:
        at = program.call_at(call.span)
        fixes += [with_keyword(*at, OF_CALLS[key])] if at is not None else []
    return Explanation(message, tuple(related), tuple(fixes))


def _explain_state(
    program: Program, text: SourceText, node: ast.Subscript
) -> Explanation | None:
    """Explain `torch.load(path)["state_dict"]` of a file that holds the state dict
    itself, or has it at another key.
    """
    around = text.parent(node)
    if get_called_name(around or node) != "load_state_dict":
        return None
    name, key = text.written(node.value), text.written(node.slice)
    message = f"what `{name}` was loaded from has no key {key}"
    related: list[Related] = []
    fixes: list[Fix] = []
    for own in program.own_texts():
        for call in own.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) != "save":
                continue
            saved = call.args[0] if call.args else None
            if get_called_name(saved or call) == "state_dict":
                message += ": it is the state dict itself"
                related.append(Related(own.span(call), "it is saved here"))
                edit = Edit(text.span(node), name)
                fixes.append(Fix("fits", f"`{name}`", (edit,)))
            for word, value in _iter_entries(saved):
                if get_called_name(value) == "state_dict":
                    new = f'{name}["{word}"]'
                    edit = Edit(text.span(node), new)
                    fixes.append(Fix("fits", f"`{new}`", (edit,)))
    return Explanation(message, tuple(related[:1]), tuple(fixes)) if fixes else None


def _iter_entries(saved: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    """Yield the keys and values of a dict that a program writes."""
    if isinstance(saved, ast.Dict):
        for key, value in zip(saved.keys, saved.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _find_call(
    program: Program, text: SourceText, node: ast.Subscript
) -> ModuleCall | None:
    """Return the call of a module whose output a line reads."""
    sources: list[ast.expr] = [node.value]
    if isinstance(node.value, ast.Name | ast.Attribute):
        sources = find_defining(text, text.written(node.value).rpartition(".")[2])
    spans = [text.span(source) for source in sources]
    calls = [
        call
        for call in program.trace.calls
        if call.span in spans
        and call.span is not None
        and not is_installed(call.span.file)
        and isinstance(call.output, dict)
    ]
    return min(reversed(calls), key=lambda call: call.depth, default=None)


def _iter_classes(
    program: Program, name: str
) -> Iterator[tuple[SourceText, ast.ClassDef]]:
    for text in program.own_texts():
        for _, kind in text.definitions(name):
            if isinstance(kind, ast.ClassDef):
                yield text, kind


def _iter_flags(
    text: SourceText, kind: ast.ClassDef, key: str
) -> Iterator[tuple[ast.expr, str]]:
    """Yield the conditions under which a class adds a key, each with the attribute that
    it asks.
    """
    for node in ast.walk(kind):
        if not isinstance(node, ast.Constant) or node.value != key:
            continue
        for outer in text.outwards(node):
            if outer is kind:
                break
            if not isinstance(outer, ast.If) or node in ast.walk(outer.test):
                continue
            for part in ast.walk(outer.test):
                if get_own_attribute(part):
                    yield outer.test, get_own_attribute(part)


def _write_flags(
    program: Program, class_name: str, kind: ast.ClassDef, attribute: str
) -> Iterator[Fix]:
    """Yield the edits that build a model with the flag that an attribute holds."""
    methods = [part for part in kind.body if isinstance(part, ast.FunctionDef)]
    init = next((part for part in methods if part.name == "__init__"), None)
    if init is None:
        return
    arguments = [*init.args.args[1:], *init.args.kwonlyargs]
    named = [argument.arg for argument in arguments]
    names = {attribute}
    for target, value in iter_assignments(init, unpacked=True):
        if get_own_attribute(target) == attribute:
            names |= collect_names(value)
    for statement in ast.walk(init):  # `if aux: self.aux = nn.Linear(...)`
        if isinstance(statement, ast.If) and any(
            get_own_attribute(target) == attribute
            for target, _ in iter_assignments(statement)
        ):
            names |= collect_names(statement.test)
    flags = [name for name in named if name in names]
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) != class_name:
                continue
            for flag in flags:
                yield from _write_flag(text, call, flag, named.index(flag))


def _write_flag(text: SourceText, call: ast.Call, flag: str, at: int) -> Iterator[Fix]:
    """Yield `flag=True` in a call, in place of what stands there."""
    values = [word.value for word in call.keywords if word.arg == flag]
    values += call.args[at : at + 1]
    if not values:
        yield with_keyword(text, call, f"{flag}=True")
    elif isinstance(values[0], ast.Constant) and not values[0].value:
        yield Fix("fits", f"`{flag}=True`", (Edit(text.span(values[0]), "True"),))


def _add_word(program: Program, key: str) -> Iterator[Fix]:
    """Yield the word that a library's function builds a model with the key by."""
    word = WORDS.get(key, "")
    for text in program.own_texts():
        for call in text.nodes:
            if not word or not isinstance(call, ast.Call):
                continue
            if not get_called_name(call).startswith(BUILDERS):
                continue
            flag = word.partition("=")[0]
            values = [part.value for part in call.keywords if part.arg == flag]
            if not values:
                yield with_keyword(text, call, word)
            elif isinstance(values[0], ast.Constant) and not values[0].value:
                yield Fix("fits", f"`{word}`", (Edit(text.span(values[0]), "True"),))
