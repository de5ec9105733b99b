"""Names of modules and classes: nouns, and each class once."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import shapewright

SOURCE = Path(shapewright.__file__).parent

TERMS = {
    "attention", "broadcasting", "drawing", "embedding", "finding", "formatting",
    "indexing", "joining", "padding", "pooling", "sampling", "training",
}  # fmt: skip
"""Words on -ing or -ed that are nouns, or terms of the field, by themselves."""

TWO_SIDES = {"Meta", "Sample"}
"""Classes that stand twice: one, and the protocol that a lower layer asks of it."""


FOLDERS = (
    "analysis", "cli", "commands", "findings", "index_maps", "integrations", "program",
    "record", "sizes", "views", "api.py",
)  # fmt: skip
"""Where every function is named by a verb, or is a predicate."""

VERBS = """
    add align append apply as ask assign attach augment await bind bound build
    cancel carry chain change check choose clamp classify close collect colour
    combine compare compute continue copy count create cut decide decode derive
    describe detect divide draw drop edit enclose encode escape estimate evaluate
    exchange expand explain extend feed fill filter find fit fix flatten fold follow
    format from gather get group hint hold ignore indent index infer iter join label
    lay learn leave list load make mark match measure mend merge move multiply name
    narrow negate nest pad paint pair parse permute pick plan print probe prove put
    quote raise rank read record refuse register rehearse rename render repair replace
    replay report reproduce resize restrict rewrite round run save scale scan select
    settle shift shorten show shrink simplify slice solve sort split spread squeeze
    stack style strip substitute suggest summarise swap take tell trace try unload
    vectorise visit with wrap write
"""
"""How the name of a function begins; a conversion or a copy, with a preposition."""

PREDICATES = ("is", "has", "can")

NOUNS = {
    "api.py": "assert_shapes explaining formulas largest_batch memory options "
    "recording",
    "analysis/provenance/axis_flow.py": "follows",
    "cli/main.py": "command main version",
    "cli/parser.py": "seconds",
    "findings/codes.py": "looks_for",
    "index_maps/index_expressions.py": "modulo operand over place places steps",
    "index_maps/index_map.py": "constant loop_letters out_letters",
    "record/json_writer.py": "schema",
    "sizes/expressions.py": "least most number product total",
    "sizes/strides.py": "channels_last contiguous",
    "views/renderers.py": "renders",
}
"""Names that are public, called by a protocol, decorators, or say what they build."""


def test_a_module_is_named_by_a_noun() -> None:
    modules = {
        path.with_suffix("").name
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "stand_ins"  # named as the packages are
    }
    folders = {path.parent.name for path in SOURCE.rglob("*.py")}
    odd = {
        name
        for name in modules | folders
        if re.fullmatch(r"[a-z]+(ing|ed)", name) or name.endswith("ed")
    }
    assert odd - TERMS == set()


def test_a_public_class_stands_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent.name == "stand_ins":  # named as other packages name them
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in TWO_SIDES} == {}
    assert set(twice) == TWO_SIDES
    protocols = ["operators/metadata_rules.py", "analysis/formulas/call_formulas.py"]
    for name, protocol in zip(sorted(TWO_SIDES), protocols, strict=True):
        tree = ast.parse((SOURCE / protocol).read_text("utf-8"))
        there = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
        assert "Protocol" in [ast.unparse(base) for base in there[0].bases]


def test_a_function_is_named_by_a_verb() -> None:
    verbs = {*VERBS.split(), *PREDICATES}
    odd: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        if not file.startswith(FOLDERS):
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
                continue
            if any(ast.unparse(d).startswith("follows(") for d in node.decorator_list):
                continue  # A rule has the name of torch's operator.
            if node.name.strip("_").split("_")[0] not in verbs:
                odd[file].append(node.name)
    assert {file: " ".join(sorted(names)) for file, names in odd.items()} == NOUNS
