"""Methods and dtypes of NumPy where torch's are meant, and the other way round:
`(pred == y).astype(float)`, `x.to(np.float32)`, `signal.astype(torch.float32)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.dtype_edits import CASTS
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import (
    SourceText,
    find_imports,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    list_arguments,
)

OF_TENSOR = re.compile(r"'Tensor' object has no attribute '(astype|copy)'")
OF_ARRAY = re.compile(r"Cannot interpret 'torch\.(\w+)' as a data type")
OF_TORCH = re.compile(
    r"argument 'dtype'.* must be torch\.dtype, not (?:type|str|numpy\.dtype\S*|"
    r"\w*DType\b)|\bto\(\) received an invalid combination of arguments - got \(type"
    r"|\bto\(\) received .* - got \([^)]*dtype=type|invalid type: 'numpy\.\w+'"
)
WORDS = {
    "float": "float32", "single": "float32", "double": "float64", "half": "float16",
    "int": "int64", "long": "int64", "float_": "float64", "int_": "int64",
    "bool_": "bool", "f4": "float32", "f8": "float64", "f": "float32", "i8": "int64",
}  # fmt: skip
"""What dtypes are called beside their names in torch."""
DTYPES = frozenset({
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
    "bool", "complex64", "complex128", "bfloat16",
})  # fmt: skip


def find_numpy_value(program: Program, finding: Finding) -> Explanation | None:
    """Return what of NumPy torch is given, or what of torch NumPy is, or None."""
    words = finding.words
    if OF_TENSOR.search(words):
        return _explain_method(program, finding)
    dtype = OF_ARRAY.search(words)
    if dtype is not None:
        return _explain_array(program, finding, dtype[1])
    if OF_TORCH.search(words):
        return _explain_dtype(program, finding)
    return None


def _iter_nodes(
    program: Program, finding: Finding
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the expressions at the place of a finding, then those on its lines."""
    place, span = program.node(finding.span), finding.span
    for node in ast.walk(place[1]) if place is not None else ():
        if place is not None and isinstance(node, ast.expr):
            yield place[0], node
    text = program.text(span.file) if span is not None else None
    for node in text.nodes if text is not None else ():
        if text is None or span is None or not isinstance(node, ast.expr):
            continue
        if span.line <= node.lineno <= (span.end_line or span.line):
            yield text, node


def _get_dtype(node: ast.expr | None) -> str:
    """Return torch's name of a dtype that is written as NumPy or Python has it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name, owner = node.value.rpartition(".")[2].lower(), "np"
    elif isinstance(node, ast.Call) and get_called_name(node) == "dtype":
        return _get_dtype(next(iter(node.args), None))
    else:
        owner, _, name = get_dotted_name(node).rpartition(".")
    if owner not in ("", "np", "numpy", "torch"):
        return ""
    if not owner and name not in ("float", "int", "bool", "complex"):
        return ""
    name = WORDS.get(name, "complex64" if name == "complex" else name)
    return name if name in DTYPES else ""


# -- methods of an array ---------------------------------------------------------------


def _explain_method(program: Program, finding: Finding) -> Explanation | None:
    """Explain `x.astype(float)` and `x.copy()` of a tensor."""
    refused = OF_TENSOR.search(finding.words)
    for text, node in _iter_nodes(program, finding):
        call = node if isinstance(node, ast.Call) else text.parent(node)
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if refused is None or owner is None or not isinstance(call, ast.Call):
            continue
        if get_called_name(call) != refused[1]:
            continue
        cut = _get_method_span(text, call)
        if cut is None:
            continue
        written = text.at(text.span(call).start.until(cut.start))
        shown = join_lines(written)
        if refused[1] == "copy":
            message = (
                f"`copy` is a method of arrays, and `{shown}` is a tensor: `clone()`"
                " copies one"
            )
            fix = Fix("fits", f"`{shown}.clone()`", (Edit(cut, ".clone()"),))
            return Explanation(message, (), (fix,))
        message = f"`astype` is a method of arrays, and `{shown}` is a tensor"
        dtypes = [*call.args[:1], *(w.value for w in call.keywords if w.arg == "dtype")]
        dtype = _get_dtype(next(iter(dtypes), None))
        if not dtype:
            return Explanation(f"{message}: `to` converts one")
        method = CASTS.get(dtype)
        new = f".{method}()" if method else f".to(torch.{dtype})"
        message += f": `{new[1:]}` converts one"
        fixes = [
            Fix("fits", f"`{shown}{join_lines(way)}`", (Edit(cut, way),))
            for way in (new, f".numpy(){text.at(cut)}")
        ]
        return Explanation(message, (), tuple(fixes))
    return None


def _get_method_span(text: SourceText, call: ast.Call) -> Span | None:
    """Return the span of `.astype(float)` in a call of a method, or None."""
    function = text.span(call.func)
    name = function.end_column - len(get_called_name(call)) - 1
    line = function.end_line
    dot = Span(text.file, line, name, line, name + 1)
    return dot.until(text.span(call)) if text.at(dot) == "." else None


# -- dtypes of torch for an array ------------------------------------------------------


def _explain_array(
    program: Program, finding: Finding, dtype: str
) -> Explanation | None:
    """Explain `signal.astype(torch.float32)` of an array."""
    for text, node in _iter_nodes(program, finding):
        name = get_dotted_name(node)
        if not isinstance(node, ast.Attribute) or not name.startswith("torch."):
            continue
        own = WORDS.get(node.attr, node.attr)
        if own != dtype:
            continue
        message = f"arrays of NumPy have its own dtypes, and `{name}` is one of torch"
        if dtype == "bfloat16":
            return Explanation(f"{message}: NumPy has none like it")
        alias = _get_numpy_name(text)
        new = f"{alias}.{dtype}" if alias else f'"{dtype}"'
        if dtype == "bool":
            new = "bool"
        fix = Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
        return Explanation(message, (), (fix,))
    return None


def _get_numpy_name(text: SourceText) -> str:
    """Return how a file names NumPy; empty where it does not import it."""
    imports = find_imports(text)
    return next((name for name, module in imports.items() if module == "numpy"), "")


# -- dtypes of NumPy for a tensor ------------------------------------------------------


def _explain_dtype(program: Program, finding: Finding) -> Explanation | None:
    """Explain `x.to(np.float32)` and `torch.zeros(3, dtype="float32")`."""
    for text, node in _iter_nodes(program, finding):
        if not isinstance(node, ast.Call):
            continue
        named = [word.value for word in node.keywords if word.arg == "dtype"]
        is_cast = get_called_name(node) in ("to", "type") and not named
        for value in named or (list_arguments(node) if is_cast else ()):
            dtype, written = _get_dtype(value), text.line_of(value)
            if not dtype or written.startswith("torch."):
                continue
            new = f"torch.{dtype}"
            message = f"tensors have dtypes of torch: `{new}`, not `{written}`"
            fix = Fix("fits", f"`{new}`", (Edit(text.span(value), new),))
            return Explanation(message, (), (fix,))
    return None
