"""Find options of the command line, and entries of a dict of settings, that nothing
reads, where a call that is given others of them lacks the parameter of that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import FLAG_WITHOUT_EFFECT
from shapewright.findings.finding import Finding
from shapewright.program.options import iter_options
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, is_starred

WHOLE = frozenset({"vars", "getattr", "setattr", "asdict", "locals"})
"""Functions that read settings without their names."""
SHOWING = frozenset({"print", "pprint", "info", "str", "repr"})


@dataclass(frozen=True, slots=True)
class _Setting:
    """A setting: its name, as it is written, its value, and where that stands; of a
    dict the name of the dict.
    """

    name: str
    written: str
    value: Any
    where: ast.expr
    owner: str = ""


def find_unread_options(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `Generator(model, beam=args.beam)` without `temperature=args.temperature`
    beside an option `--temperature` of another default, which nothing reads.
    """
    texts = [text for text in scene.program.own_texts() if text is not None]
    for text in texts:
        for setting in (*_iter_unread_options(texts, text), *_iter_entries(text)):
            if _is_read_whole(texts, setting):
                continue
            call = _find_call(texts, setting)
            if call is None:
                continue
            other, node, default = call
            callee = get_called_name(node)
            yield build_finding(
                FLAG_WITHOUT_EFFECT,
                f"{setting.written} ({setting.value!r}) is read nowhere: `{callee}`"
                f" is called without `{setting.name}`, so that it has its default"
                f" {default!r}",
                other.span(node),
                (text.span(setting.where), "it is set here"),
            )


def _iter_unread_options(
    texts: list[SourceText], text: SourceText
) -> Iterator[_Setting]:
    """Yield the options of a file that no file reads from the parsed arguments."""
    for option in iter_options(text):
        value = _read(option.default)
        is_read = any(
            isinstance(node, ast.Attribute)
            and node.attr == option.name
            and ast.unparse(node.value) != "self"
            for other in texts
            for node in other.nodes
        ) or any(
            isinstance(node, ast.Constant) and node.value == option.name
            for other in texts
            for node in other.nodes
            if node not in option.call.args
        )
        if value is not None and not is_read:
            flag = ast.literal_eval(option.call.args[0])
            names = [ast.literal_eval(part) for part in option.call.args]
            flag = next((name for name in names if name.startswith("--")), flag)
            yield _Setting(option.name, f"the option `{flag}`", value, option.call)


def _iter_entries(text: SourceText) -> Iterator[_Setting]:
    """Yield the entries of the dicts of a file whose keys stand nowhere else in it."""
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        owner = ast.unparse(node.targets[0])
        for key, entry in zip(node.value.keys, node.value.values, strict=True):
            value = _read(entry)
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            others = [
                part
                for part in text.nodes
                if isinstance(part, ast.Constant) and part.value == key.value
            ]
            if value is not None and len(others) == 1 and key.value.isidentifier():
                written = f'`{owner}["{key.value}"]`'
                yield _Setting(key.value, written, value, key, owner)


def _read(node: ast.expr | None) -> Any:
    """Return the value of a literal, or None."""
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError):
        return None


def _is_read_whole(texts: list[SourceText], setting: _Setting) -> bool:
    """Return whether the settings may be read without their names: by `vars`, by a
    function of others that is handed all of them, or unpacked.
    """
    options = {option.name for text in texts for option in iter_options(text)}
    own = {name.rpartition(".")[2] for text in texts for name, _ in text.definitions()}
    owners = (
        {setting.owner}
        if setting.owner
        else {
            ast.unparse(node.value)
            for text in texts
            for node in text.nodes
            if isinstance(node, ast.Attribute) and node.attr in options
        }
    )
    for text in texts:
        for node in text.nodes:
            if isinstance(node, ast.Attribute) and node.attr == "__dict__":
                return True
            if isinstance(node, ast.Call) and get_called_name(node) in WHOLE:
                return True
            if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
                continue
            outer = text.parent(node)
            is_load = isinstance(getattr(node, "ctx", None), ast.Load)
            if not is_load or ast.unparse(node) not in owners:
                continue
            if setting.owner and not isinstance(
                getattr(outer, "slice", None), ast.Constant
            ):
                return True
            if isinstance(outer, ast.keyword):
                outer = text.parent(outer)
            if (
                isinstance(outer, ast.Call)
                and get_called_name(outer) not in own | SHOWING
            ):
                return True
    return False


def _find_call(
    texts: list[SourceText], setting: _Setting
) -> tuple[SourceText, ast.Call, Any] | None:
    """Return the only call of a function or class of the program that has a parameter
    of a setting's name, is given other settings and not this one; with the default.
    """
    calls: list[tuple[SourceText, ast.Call, Any]] = []
    for text in texts:
        for node in text.nodes:
            if isinstance(node, ast.keyword) and node.arg == setting.name:
                return None
            if not isinstance(node, ast.Call):
                continue
            for default in _iter_missing(texts, node, setting.name):
                if is_starred(node):
                    return None
                calls.append((text, node, default))
    if len(calls) != 1 or not _is_given_settings(texts, calls[0][1], setting):
        return None
    default = calls[0][2]
    is_other = default is not None and default != setting.value
    return calls[0] if is_other else None


def _iter_missing(texts: list[SourceText], call: ast.Call, name: str) -> Iterator[Any]:
    """Yield the default of a parameter that a call does not reach by its places."""
    called = get_called_name(call)
    for text in texts:
        for path, function in text.functions():
            parts = path.split(".")
            is_class = parts[-1] == "__init__" and len(parts) > 1
            if called != (parts[-2] if is_class else parts[-1]):
                continue
            arguments = function.args
            names = [part.arg for part in (*arguments.posonlyargs, *arguments.args)]
            defaults = dict(
                zip(reversed(names), reversed(arguments.defaults), strict=False)
            )
            for part, value in zip(
                arguments.kwonlyargs, arguments.kw_defaults, strict=True
            ):
                if value is not None:
                    defaults[part.arg] = value
            names = names[1:] if names[:1] == ["self"] else names
            if name in defaults and name not in names[: len(call.args)]:
                yield _read(defaults[name])


def _is_given_settings(
    texts: list[SourceText], call: ast.Call, setting: _Setting
) -> bool:
    """Return whether a call is given other settings of the same place by their names:
    at least two options, or entries of the dict, as `beam=args.beam`.
    """
    options = {option.name for text in texts for option in iter_options(text)}
    count = 0
    for word in call.keywords:
        value = word.value
        if setting.owner:
            if isinstance(value, ast.Subscript):
                count += ast.unparse(value.value) == setting.owner
        elif isinstance(value, ast.Attribute):
            count += value.attr in options
    return count >= 2
