"""Methods whose names Python does not ask for: `len` or `_len_` of a data set, where
`__len__` is called.
"""

from __future__ import annotations

import ast
import re
from difflib import SequenceMatcher

from shapewright.analysis.hidden_functions import get_name_span
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related

WANTED = (
    (re.compile(r"object of type '(\w+)' has no len\(\)"), "__len__"),
    (re.compile(r"'(\w+)' object is not subscriptable"), "__getitem__"),
    (re.compile(r"'(\w+)' object does not support indexing"), "__getitem__"),
    (re.compile(r"'(\w+)' object is not iterable"), "__iter__"),
    (re.compile(r"'(\w+)' object is not an iterator"), "__next__"),
    (re.compile(r"'(\w+)' object is not callable"), "__call__"),
    (re.compile(r"Module \[(\w+)\] is missing the required \"forward\""), "forward"),
)
ALIKE = {
    "__len__": {"length", "size", "count"},
    "__getitem__": {"get_item", "get", "item", "getitems"},
    "__call__": {"forward", "apply", "transform"},
    "__iter__": {"iterate", "iterator"},
    "forward": {"call", "forwards", "fwd", "__call__"},
}
LEAST_ALIKE = 0.75
NOT_IMPLEMENTED = "Subclasses of Dataset should implement __getitem__"


def find_misspelt_method(program: Program, finding: Finding) -> Explanation | None:
    """Return that a class has the method that is missed under another name."""
    for pattern, wanted in WANTED:
        missed = pattern.search(finding.words)
        if missed is not None:
            return _explain(program, missed[1], wanted)
    if NOT_IMPLEMENTED in finding.words:
        return _explain(program, "", "__getitem__")
    return None


def _explain(program: Program, kind: str, wanted: str) -> Explanation | None:
    """Return the explanation for a class of the program, or for any of its data sets
    where no class is named.
    """
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.ClassDef) or kind not in ("", node.name):
                continue
            if not kind and "Dataset" not in "".join(map(ast.unparse, node.bases)):
                continue
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            if any(method.name == wanted for method in methods):
                continue
            likely = [m for m in methods if _is_meant(m.name, wanted)]
            if not likely:
                continue
            name, span = likely[0].name, get_name_span(text, likely[0])
            message = (
                f"`{node.name}` has no `{wanted}`: its method is called `{name}`, which"
                " nothing asks for"
            )
            related = (Related(span, "it is defined here"),)
            fix = Fix("fits", f"`def {wanted}`", (Edit(span, wanted),))
            return Explanation(message, related, (fix,))
    return None


def _is_meant(name: str, wanted: str) -> bool:
    """Return whether a method's name is a way to write the one that is wanted."""
    own, other = (word.strip("_").lower().replace("_", "") for word in (name, wanted))
    if name.startswith("__") and name.endswith("__") and hasattr(object, name):
        return False
    alike = SequenceMatcher(None, own, other).ratio() >= LEAST_ALIKE
    return alike or name in ALIKE.get(wanted, ())
