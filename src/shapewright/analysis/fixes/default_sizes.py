"""A size that a model is built with by default, although the settings around its
constructor have one: `ViT(args.dim)` beside `args.img_size`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    is_starred,
)

MOST = 3
"""Names that are tried for one parameter."""
COUNTED = ("n", "num", "number", "nb", "no")
COMMON = frozenset({*COUNTED, "of", "max", "size", "dim", "len", "length"})
"""Words of names that say little by themselves."""


def suggest_size_for_default(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `ViT(args.dim, image_size=args.img_size)` where a constructor leaves a
    size to its default, and a name in its scope speaks of the same.
    """
    yield from _suggest_for_data(program)
    paths = _list_paths(program, failure)
    for path in dict.fromkeys(paths):
        place = find_constructor(program, path)
        built = program.built.get(path)
        if place is None or built is None:
            continue
        text, call = place
        passed = {name for name, _, _ in iter_arguments(program, path)}
        if is_starred(call):
            continue
        for name, default in iter_defaults(program, built.class_name):
            if name in passed:
                continue
            for value in _list_alike(text, call, name)[:MOST]:
                if evaluate_whole_number(value) != default:
                    yield with_keyword(text, call, f"{name}={text.written(value)}")


def _suggest_for_data(program: Program) -> Iterator[Fix]:
    """Suggest `Series(table, horizon=HORIZON)` for a class of data that leaves a number
    to its default beside a constant of that name.
    """
    for text in program.own_texts():
        for call in text.nodes:
            name = get_called_name(call)
            if not isinstance(call, ast.Call) or not name or is_starred(call):
                continue
            for _, owner in text.definitions(name):
                if not isinstance(owner, ast.ClassDef) or not _is_of_data(owner):
                    continue
                passed = {word.arg for word in call.keywords}
                names = list_constructor_names(owner)
                passed |= {*names[: len(call.args)]}
                for parameter, default in iter_defaults(program, name):
                    if parameter in passed or type(default) is not int:
                        continue
                    for value in _list_alike(text, call, parameter)[:MOST]:
                        if evaluate_whole_number(value) != default:
                            word = f"{parameter}={text.written(value)}"
                            yield with_keyword(text, call, word)


def _is_of_data(owner: ast.ClassDef) -> bool:
    """Return whether a class is a data set: it gives items."""
    return any(
        getattr(method, "name", "") in ("__getitem__", "__iter__")
        for method in owner.body
    )


def list_constructor_names(owner: ast.ClassDef) -> list[str]:
    """Return the parameters of the constructor of a class, by position."""
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return [argument.arg for argument in method.args.args][1:]
    return []


def _list_paths(program: Program, failure: Failure) -> Iterator[str]:
    """Yield the modules around a call and around the parameters that it meets, the
    outermost first.
    """
    op = program.trace.ops[failure.op]
    paths = [op.module]
    for at, dim in filter(None, find_sides(failure)):
        origin = trace_dim(program, op.inputs[at], dim).fact.tensor
        for tensor in (op.inputs[at].tensor, origin):
            paths.append(program.states.get(tensor, "").rpartition(".")[0])
    for path in paths:
        parts = path.split(".")
        for end in range(1, len(parts) + 1):
            yield ".".join(parts[:end])


def iter_defaults(program: Program, class_name: str) -> Iterator[tuple[str, object]]:
    """Yield the parameters of a class of the program that have a plain default."""
    for text in program.own_texts():
        for _, owner in text.definitions(class_name):
            for method in getattr(owner, "body", ()):
                if getattr(method, "name", "") != "__init__":
                    continue
                arguments = method.args
                named = [*arguments.posonlyargs, *arguments.args]
                pairs = [
                    *zip(reversed(named), reversed(arguments.defaults), strict=False),
                    *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
                ]
                for parameter, value in pairs:
                    if isinstance(value, ast.Constant):
                        yield parameter.arg, value.value


def _list_alike(text: SourceText, call: ast.Call, name: str) -> list[ast.expr]:
    """Return the names, options and entries in the scope of a call that speak of the
    same as a parameter.
    """
    scopes = [scope for scope in (text.around(call, *FUNCTIONS), text.tree) if scope]
    alike: dict[str, ast.expr] = {}
    own = scopes[0] if scopes else None
    for node in (node for scope in scopes for node in ast.walk(scope)):
        if not isinstance(node, ast.expr) or not _is_setting(node):
            continue
        around = text.around(node, *FUNCTIONS) or text.tree
        is_constant = isinstance(node, ast.Name) and node.id.isupper()
        if around is not own and not is_constant:
            continue
        last = get_last_name(node)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            last = str(node.slice.value)
        if is_alike(name, last):
            alike.setdefault(text.written(node), node)
    return [*alike.values()]


def _is_setting(node: ast.expr) -> bool:
    """Return whether an expression reads a name, an option or an entry."""
    if not isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name)
    if isinstance(node, ast.Subscript):
        is_key = isinstance(node.slice, ast.Constant)
        return is_key and isinstance(getattr(node.slice, "value", None), str)
    return isinstance(node, ast.Name)


def is_alike(left: str, right: str) -> bool:
    """Return whether two names speak of the same: `img_size` and `image_size`.

    Example: ``is_alike("num_classes", "n_cls")`` is true, ``is_alike("dim", "dim_in")``
    is not: a word that both have says too little.
    """
    words = [re.findall(r"[a-z]+|\d+", _split_case(name)) for name in (left, right)]
    few, many = sorted(words, key=len)
    if few == many:
        return True
    pairs = [
        any(_is_short_for(word, other) for other in many)
        for word in few
        if word not in COUNTED
    ]
    telling = {word for word in few if word not in COMMON}
    rest = [
        word
        for word in many
        if word not in COMMON and not any(_is_short_for(word, own) for own in few)
    ]
    return bool(pairs) and all(pairs) and bool(telling) and not rest


def _split_case(name: str) -> str:
    """Return a name in lower case, the words of camel case apart."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _is_short_for(word: str, other: str) -> bool:
    """Return whether one word is the other, or a short form of it: `img`, `image`."""
    short, whole = sorted((word, other), key=len)
    if short == whole or short + "s" == whole:
        return True
    if len(short) < 2 or short[0] != whole[0]:
        return False
    letters = iter(whole)
    return all(letter in letters for letter in short)
