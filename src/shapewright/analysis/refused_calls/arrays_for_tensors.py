"""Arrays, tables, lists and dicts where tensors are taken: `TensorDataset(X, Y)` of
arrays, `torch.tensor(df)`, `nn.CrossEntropyLoss(weight=[1.0, 2.0])`, an optimizer that
is given a dict.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

OF_DATA_SET = re.compile(
    r"'int' object is not callable|'tuple' object is not callable"
    r"|'(?:list|DataFrame|Series)' object has no attribute 'size'"
)
OF_TABLE = re.compile(
    r"KeyError`?: \d+$|^\d+$|expected np\.ndarray \(got (?:DataFrame|Series|Index)\)"
    r"|could not determine the shape of object type '(?:DataFrame|Series)'"
    r"|new\(\): data must be a sequence \(got (?:DataFrame|Series)\)"
)
OF_BUFFER = re.compile(r"cannot assign '([\w.]+)' object to buffer '(\w+)'")
OF_KEYS = "can only optimize Tensors, but one of the params is str"
MAKERS = frozenset({
    "tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor", "Tensor",
    "DoubleTensor", "IntTensor",
})  # fmt: skip


def find_array_for_tensor(program: Program, finding: Finding) -> Explanation | None:
    """Return which array or table stands where a tensor is taken, or None."""
    place = program.call_at(finding.span)
    if place is None or not (place[1].args or place[1].keywords):
        return None
    text, call = place
    name = get_called_name(call)
    words = finding.message.strip()
    buffer = OF_BUFFER.search(finding.words)
    if buffer is not None:
        return _explain_buffer(text, call, buffer[1], buffer[2])
    if OF_KEYS in finding.words:
        return _explain_keys(text, call)
    if name == "TensorDataset" and OF_DATA_SET.search(finding.words):
        return _explain_data_set(text, call)
    is_maker = name in MAKERS and get_dotted_name(call.func).startswith("torch.")
    if is_maker and (OF_TABLE.search(words) or OF_TABLE.search(finding.torch_message)):
        return _explain_table(text, call)
    return None


def _explain_buffer(
    text: SourceText, call: ast.Call, kind: str, name: str
) -> Explanation | None:
    """Explain a list or an array for the weights of a loss."""
    for word in call.keywords:
        if word.arg != name:
            continue
        written = text.line_of(word.value)
        message = f"`{name}` is to be a tensor, and `{written}` is a {kind}"
        new = f"torch.tensor({written})"
        if kind == "numpy.ndarray":
            new = f"torch.from_numpy({written}).float()"
        fix = Fix("fits", f"`{new}`", (Edit(text.span(word.value), new),))
        return Explanation(message, (), (fix,))
    return None


def _explain_keys(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain a dict of parameters, whose keys an optimizer goes through."""
    written = text.line_of(call.args[0]) if call.args else ""
    if not isinstance(call.args[0] if call.args else None, ast.Name | ast.Call):
        return None
    message = (
        f"`{written}` is a dict, whose keys an optimizer goes through: it takes the"
        " parameters"
    )
    end = text.span(call.args[0]).end
    fix = Fix("fits", f"`{written}.values()`", (Edit(end, ".values()"),))
    return Explanation(message, (), (fix,))


def _explain_data_set(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain a `TensorDataset` of arrays."""
    names = [part for part in call.args if not isinstance(part, ast.Starred)]
    written = [text.line_of(part) for part in names]
    if len(names) != len(call.args):
        return None
    shown = ", ".join(f"`{part}`" for part in written)
    is_one = len(names) == 1
    message = f"`TensorDataset` takes tensors, and {shown} "
    message += "is none" if is_one else "are not all tensors"
    fixes = []
    for casts in ((), (".float()",)):
        tensors = [
            f"torch.as_tensor({part}){''.join(casts if at == 0 else ())}"
            for at, part in enumerate(written)
        ]
        edits = tuple(
            Edit(text.span(part), new) for part, new in zip(names, tensors, strict=True)
        )
        fixes.append(Fix("fits", f"`TensorDataset({', '.join(tensors)})`", edits))
    return Explanation(message, (), tuple(fixes))


def _explain_table(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain a tensor made of a table or of one of its columns."""
    if "pandas" not in text.text:
        return None
    table = call.args[0]
    written = text.line_of(table)
    name = text.line_of(call.func)
    message = (
        f"`{name}` takes numbers or an array, and `{written}` is a table of pandas,"
        " which it reads by its labels"
    )
    whole = isinstance(table, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    value = f"{written}.values" if whole else f"({written}).values"
    forms = [(Edit(text.span(table), value),)]
    if not call.keywords and len(call.args) == 1 and "Tensor" not in name:
        typed = f"{value}, dtype=torch.float32"
        forms.append((Edit(text.span(table), typed),))
    fixes = [Fix("fits", f"`{name}({edits[0].text})`", edits) for edits in forms]
    return Explanation(message, (), tuple(fixes))
