"""Functions of the program that a library calls otherwise than they are defined.

`TypeError: Net.on_epoch_end() missing 1 required positional argument: 'outputs'` is
raised where a library calls it; what is to be mended stands where it is defined.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.findings.finding import Finding, Related
from shapewright.reasoning.program import Program
from shapewright.source.expressions import Text
from shapewright.source.span import Span

CALLED = re.compile(r"(?:TypeError: )?([\w.<>]+)\(\) (.*)")
MISSING = re.compile(
    r"missing \d+ required (?:positional|keyword-only) arguments?: (.*)"
)
TAKES = re.compile(r"takes (?:from \d+ to )?(\d+) positional arguments? but \d+ ")
UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
QUOTED = re.compile(r"[`'\"]([A-Za-z_][\w./]*)(?:\(\))?[`'\"]")

INSTALLED = ("site-packages", "dist-packages")
MOST_PLACES = 2
"""Places of a word before it says nothing."""
MOST_NAMED = 3
"""Words of a message that are shown where they stand."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Defined:
    """A function and where it stands."""

    span: Span
    arguments: ast.arguments


def told(program: Program, finding: Finding) -> Finding:
    """The finding of an error, with the function of the program that it is about."""
    found = called_otherwise(program, finding)
    if found is not None:
        return found
    if program.ending is None or not program.ending.library:
        return finding
    named = [each for each in mentioned(program, finding) if each.span != finding.span]
    return replace(finding, related=(*named[:MOST_NAMED], *finding.related))


def called_otherwise(program: Program, finding: Finding) -> Finding | None:
    """A call whose arguments are not those of the function: it is told at that."""
    match = CALLED.match(finding.torch_message)
    if match is None:
        return None
    name, said = match.groups()
    found = [each for each in defined(program, name) if refuses(each.arguments, said)]
    if len(found) != 1 or found[0].span == finding.span:
        return None
    (function,) = found
    if is_called_here(program, finding, name):
        there = Related(function.span, f"`{shown(name)}` is defined here")
        return replace(finding, related=(there, *finding.related))
    called = (Related(finding.span, "called from here"),) if finding.span else ()
    return replace(finding, span=function.span, related=(*called, *finding.related))


def is_called_here(program: Program, finding: Finding, name: str) -> bool:
    """Whether it is the program's own call that gives other arguments."""
    if program.ending is not None and program.ending.library:
        return False
    last = name.rpartition(".")[2]
    if last == "forward" or (last.startswith("__") and last.endswith("__")):
        return True  # called by torch or Python for the program's own call
    found = program.node(finding.span)
    node = found[1] if found is not None else None
    if not isinstance(node, ast.Call):
        return last != "<lambda>"
    written = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return last in (written, node.func.id if isinstance(node.func, ast.Name) else "")


def shown(name: str) -> str:
    """`main.<locals>.hook` as `hook`, `Net.step` as it is."""
    return name.rpartition("<locals>.")[2]


def defined(program: Program, name: str) -> Iterator[Defined]:
    """The functions of the program of a qualified name."""
    parts = [part for part in name.split(".") if part != "<locals>"]
    for text in own_texts(program):
        if text.tree is not None:
            for node in within(text.tree, parts):
                yield Defined(span_of(text, node), node.args)


def within(node: ast.AST, parts: list[str]) -> Iterator[Function]:
    """The functions of these nested names, in what a node holds itself."""
    for each in held(node):
        name = "<lambda>" if isinstance(each, ast.Lambda) else each.name
        if name != parts[0]:
            continue
        if len(parts) > 1:
            yield from within(each, parts[1:])
        elif not isinstance(each, ast.ClassDef):
            yield each


def held(node: ast.AST) -> Iterator[Function | ast.ClassDef]:
    """Functions and classes in a node, but those within another."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, Function | ast.ClassDef):
            yield each
        else:
            waiting += ast.iter_child_nodes(each)


def refuses(arguments: ast.arguments, said: str) -> bool:
    """Whether arguments are those of which Python says so."""
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    names = {*positional, *(each.arg for each in arguments.kwonlyargs)}
    missing = MISSING.match(said)
    if missing is not None:
        return set(re.findall(r"'(\w+)'", missing.group(1))) <= names
    takes = TAKES.match(said)
    if takes is not None:
        return len(positional) == int(takes.group(1)) and arguments.vararg is None
    unexpected = UNEXPECTED.match(said)
    if unexpected is not None:
        return unexpected.group(1) not in names and arguments.kwarg is None
    return False


def span_of(text: Text, node: Function) -> Span:
    """The head of a function, on its first line."""
    if isinstance(node, ast.Lambda):
        return text.span(node)
    line = text.lines[node.lineno - 1].rstrip()
    column = text.column(node.lineno, node.col_offset)
    end = len(line.removesuffix(":")) + 1
    return Span(text.file, node.lineno, column, node.lineno, end)


def mentioned(program: Program, finding: Finding) -> Iterator[Related]:
    """What a library's message names and the program wrote: its functions and texts."""
    for word in dict.fromkeys(QUOTED.findall(finding.torch_message)):
        name = word.rpartition(".")[2]
        places: list[tuple[Span, str]] = []
        for text in own_texts(program):
            for node in ast.walk(text.tree) if text.tree is not None else ():
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    places.append((span_of(text, node), f"`{name}` is defined here"))
                elif isinstance(node, ast.Constant) and node.value == word:
                    places.append((text.span(node), f"`{word}` stands here"))
        if len(places) <= MOST_PLACES:
            yield from (Related(span, words) for span, words in places)


def own_texts(program: Program) -> Iterator[Text]:
    """The files of the program itself."""
    for file in dict.fromkeys((*program.trace.sources, *program.sources)):
        text = program.text(file)
        if text is not None and not any(part in file for part in INSTALLED):
            yield text
