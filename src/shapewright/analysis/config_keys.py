"""Keys that a config lacks: the nearest one beside it, from the text or the dict that a
config of `omegaconf` is made of, from a dict, or from the arguments of a parser.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

MISSING = re.compile(r"Key '(\w+)' is not in struct|Missing key (\w+)")
NO_OPTION = re.compile(
    r"'(Namespace|types\.SimpleNamespace|\w+)' object has no attribute '(\w+)'"
)
NO_ENTRY = re.compile(r"KeyError`?: '(\w+)'")
FULL = re.compile(r"full_key: ([\w.]+)")
LINE = re.compile(r"^( *)(?:- )?([A-Za-z_]\w*):")
MAKERS = ("create", "safe_load", "load", "merge")
SHORT = {
    "lr": "learning_rate", "bs": "batch_size", "wd": "weight_decay",
    "eps": "epsilon",
}  # fmt: skip
"""Short words for settings, and the long ones."""
MOST = 8


def find_config_key(program: Program, finding: Finding) -> Explanation | None:
    """Return which key of a config stands for one that it lacks, or None."""
    refused = MISSING.search(finding.words)
    place = program.node(finding.span)
    if place is None:
        return None
    option = NO_OPTION.search(finding.words)
    if option is not None:
        return _explain_option(program, *place, option[1], option[2])
    entry = NO_ENTRY.search(finding.words)
    if entry is not None:
        return _explain_entry(*place, entry[1])
    if refused is None:
        return None
    key = refused[1] or refused[2]
    full = FULL.search(finding.torch_message)
    above = full[1].rpartition(".")[0] if full is not None else None
    text, node = place
    for read in ast.walk(node):
        if isinstance(read, ast.Attribute) and read.attr == key:
            owner, span = read.value, text.span(read)
            form = "{}.{}"
        elif _is_item(read, key):
            assert isinstance(read, ast.Subscript)
            owner, span = read.value, text.span(read)
            form = '{}["{}"]'
        else:
            continue
        name = text.line_of(owner)
        keys = list(dict.fromkeys(_iter_keys(program, above)))
        message = f"`{name}` has no key `{key}`"
        if keys:
            message += ": it has " + ", ".join(f"`{other}`" for other in keys[:MOST])
        near = find_nearest(key, keys)
        fixes = []
        if near:
            new = form.format(text.written(owner), near)
            fixes = [Fix("fits", f"`{new}`", (Edit(span, new),))]
        return Explanation(message, (), tuple(fixes))
    return None


def _explain_option(
    program: Program, text: SourceText, node: ast.AST, kind: str, key: str
) -> Explanation | None:
    """Return which option of a parser, or field of a class of settings, is meant."""
    keys = list(dict.fromkeys(_iter_options(program, kind)))
    near = find_nearest(key, keys)
    for read in ast.walk(node):
        if not isinstance(read, ast.Attribute) or read.attr != key or not near:
            continue
        name = text.line_of(read.value)
        new = f"{text.written(read.value)}.{near}"
        shown = ", ".join(f"`{other}`" for other in keys[:MOST])
        message = f"`{name}` has no `{key}`: it has {shown}"
        fix = Fix("fits", f"`{new}`", (Edit(text.span(read), new),))
        return Explanation(message, (), (fix,))
    return None


def _iter_options(program: Program, kind: str) -> Iterator[str]:
    """Yield the names of the arguments of a parser, of a namespace, or the fields of a
    data class.
    """
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.ClassDef) and node.name == kind:
                is_data = any(
                    "dataclass" in ast.unparse(d) for d in node.decorator_list
                )
                for part in node.body if is_data else ():
                    if isinstance(part, ast.AnnAssign):
                        yield text.written(part.target)
            if not isinstance(node, ast.Call):
                continue
            name, words = get_called_name(node), node.keywords
            if name == "SimpleNamespace" and kind.endswith(name):
                yield from (word.arg for word in words if word.arg)
            elif name == "add_argument" and kind == "Namespace":
                long = [
                    part.value.lstrip("-").replace("-", "_")
                    for part in node.args
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                named = [
                    text.written(w.value).strip("\"'") for w in words if w.arg == "dest"
                ]
                yield from named or sorted(long, key=len)[-1:]


def _explain_entry(text: SourceText, node: ast.AST, key: str) -> Explanation | None:
    """Return which entry of a dict of settings is meant."""
    for read in ast.walk(node):
        if not _is_item(read, key):
            continue
        assert isinstance(read, ast.Subscript)
        value = _find_dict(text, read.value)
        keys = [
            part.value
            for part in (value.keys if value is not None else ())
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        near = find_nearest(key, keys)
        if not near:
            return None
        new = f'{text.written(read.value)}["{near}"]'
        shown = ", ".join(f"`{other}`" for other in keys[:MOST])
        message = f"`{text.line_of(read.value)}` has no key `{key}`: it has {shown}"
        fix = Fix("fits", f"`{new}`", (Edit(text.span(read), new),))
        return Explanation(message, (), (fix,))
    return None


def _find_dict(text: SourceText, owner: ast.expr, depth: int = 4) -> ast.Dict | None:
    """Return the dict that a name, or an item of it, was written as, or None."""
    if depth < 0:
        return None
    if isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Constant):
        outer = _find_dict(text, owner.value, depth - 1)
        for key, value in zip(outer.keys, outer.values, strict=True) if outer else ():
            if isinstance(key, ast.Constant) and key.value == owner.slice.value:
                return value if isinstance(value, ast.Dict) else None
        return None
    values = find_defining(text, text.written(owner)) if get_dotted_name(owner) else []
    last = values[-1] if values else owner
    if last is not owner and isinstance(last, ast.Name | ast.Attribute | ast.Subscript):
        return _find_dict(text, last, depth - 1)  # as a function is given it
    return last if isinstance(last, ast.Dict) else None


def _is_item(node: ast.AST, key: str) -> bool:
    """Return whether an expression reads `config["key"]`."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == key
    )


def _iter_keys(program: Program, above: str | None) -> Iterator[str]:
    """Yield the keys of the configs of a program, below one of them if it is known."""
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) not in MAKERS:
                continue
            for part in call.args[:1]:
                value: ast.AST = part
                if isinstance(part, ast.Name):
                    values = [
                        node.value
                        for node in text.nodes
                        if isinstance(node, ast.Assign)
                        and text.written(node.targets[0]) == part.id
                    ]
                    value = values[-1] if values else part
                for path, key in _iter_paths(value):
                    if above is None or path == above:
                        yield key


def _iter_paths(node: ast.AST, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys of a dict or of a text in YAML, each with the path above it."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                name = str(key.value)
                yield path, name
                yield from _iter_paths(value, f"{path}.{name}".strip("."))
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    stack: list[tuple[int, str]] = []
    for line in node.value.splitlines():
        entry = LINE.match(line)
        if entry is None:
            continue
        depth, word = len(entry[1]), entry[2]
        while stack and stack[-1][0] >= depth:
            stack.pop()
        yield ".".join(name for _, name in stack), word
        stack.append((depth, word))


def find_nearest(key: str, keys: list[str]) -> str:
    """Return the key that is spelled nearly like another, is the long word for it, or
    has it as a part; an empty string if no single one does.
    """
    long = SHORT.get(key)
    if long in keys:
        return str(long)
    short = [name for name, other in SHORT.items() if other == key and name in keys]
    initials = [
        name
        for name in keys
        if "_" in name and "".join(part[:1] for part in name.split("_")) == key
    ]
    own = set(key.split("_"))
    parts = [n for n in keys if own < set(n.split("_")) or own > set(n.split("_"))]
    near = difflib.get_close_matches(key, keys, 1, 0.75)
    for candidates in (short, initials, near, parts):
        if len(candidates) == 1:
            return candidates[0]
    return ""
