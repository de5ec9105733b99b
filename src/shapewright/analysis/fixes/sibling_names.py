"""Other entries of the same settings: `config.hidden_size` for
`config.intermediate_size`, `cfg["dim"]` for `cfg["heads"]`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name, get_last_name

WIDTH = re.compile(r"hidden|dim|width|size|embed|emb|channel|feature|model|units")
DEEP = 3
"""How many names settings are followed back through."""


def find_sibling_names(text: SourceText, node: ast.expr, value: int) -> list[str]:
    """Return the other entries of the settings that an expression reads which have a
    value, those first whose name speaks of a width.
    """
    if isinstance(node, ast.Attribute):
        base, own, form = node.value, node.attr, "{}.{}"
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        base, own = node.value, str(node.slice.value)
        quote = text.written(node.slice)[:1]
        form = f"{{}}[{quote}{{}}{quote}]"
    else:
        return []
    name = get_last_name(base)
    entries: dict[str, int] = {}
    for settings in _iter_settings(text, name) if name != "self" else ():
        for key, part in _iter_entries(text, settings):
            number = evaluate_whole_number(part)
            if number is not None:
                entries[key] = number
    names = [key for key, number in entries.items() if number == value and key != own]
    names.sort(key=lambda key: WIDTH.search(key.lower()) is None)
    return [form.format(text.written(base), key) for key in names]


def _iter_settings(text: SourceText, name: str) -> Iterator[ast.AST]:
    """Yield the expressions and classes that a name of settings stands for."""
    names = [name]
    for _ in range(DEEP):
        following = []
        for current in names:
            for _, definition in text.definitions(current):
                if isinstance(definition, ast.ClassDef):
                    yield definition
            for value in find_defining(text, current):
                yield value
                if get_last_name(value) not in ("", current):
                    following.append(get_last_name(value))
        names = list(dict.fromkeys(following))


def _iter_entries(
    text: SourceText, settings: ast.AST
) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of the entries of settings, and their values, the defaults
    first.
    """
    if isinstance(settings, ast.ClassDef):
        for statement in settings.body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    yield get_last_name(target), statement.value
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                yield get_last_name(statement.target), statement.value
    elif isinstance(settings, ast.Dict):
        for key, value in zip(settings.keys, settings.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif get_called_name(settings) == "parse_args":
        yield from iter_command_options(text)
    elif isinstance(settings, ast.Call):
        for _, definition in text.definitions(get_called_name(settings)):
            if isinstance(definition, ast.ClassDef):
                yield from _iter_entries(text, definition)
        for word in settings.keywords:
            if word.arg is not None:
                yield word.arg, word.value


def iter_command_options(text: SourceText) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of the options of a command line, and their defaults."""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != "add_argument":
            continue
        names = [
            argument.value.lstrip("-").replace("-", "_")
            for argument in call.args
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        ]
        for word in call.keywords:
            if word.arg == "default" and names:
                yield max(names, key=len), word.value
