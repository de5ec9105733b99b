"""Names of torch functions, as a user would write them."""

from __future__ import annotations

from typing import Any

import torch

OPERATORS = {
    "__getitem__": "[]", "__setitem__": "[]=", "__eq__": "==", "__ne__": "!=",
    "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__add__": "+",
    "__radd__": "+", "__sub__": "-", "__rsub__": "-", "__mul__": "*", "__rmul__": "*",
    "__truediv__": "/", "__rtruediv__": "/", "__div__": "/", "__rdiv__": "/",
    "__floordiv__": "//", "__rfloordiv__": "//", "__mod__": "%", "__rmod__": "%",
    "__pow__": "**", "__rpow__": "**", "__matmul__": "@", "__rmatmul__": "@",
    "__and__": "&", "__rand__": "&", "__or__": "|", "__ror__": "|", "__xor__": "^",
    "__rxor__": "^", "__lshift__": "<<", "__rshift__": ">>", "__neg__": "-",
    "__invert__": "~", "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=",
    "__itruediv__": "/=", "__idiv__": "/=", "__ifloordiv__": "//=", "__imod__": "%=",
    "__iand__": "&=", "__ior__": "|=", "__ixor__": "^=", "__ipow__": "**=",
    "__imatmul__": "@=", "__ilshift__": "<<=", "__irshift__": ">>=", "__abs__": "abs",
    "__bool__": "bool", "__int__": "int", "__float__": "float", "__index__": "int",
    "__complex__": "complex", "__len__": "len", "__contains__": "in",
    "__reversed__": "reversed", "_sparse_mm": "torch.sparse.mm",
}  # fmt: skip

PREFIXES = {
    "torch._C._nn": "F", "torch.nn.functional": "F", "torch": "torch",
    "torch.functional": "torch", "torch._C._linalg": "torch.linalg",
    "torch._C._fft": "torch.fft", "torch._C._special": "torch.special",
    "torch.nn.init": "nn.init", "torch._tensor": "Tensor", "torch._VF": "torch",
    "torch._C": "torch", "torch.autograd": "torch.autograd",
    "torch._C._sparse": "torch.sparse", "torch._C._nested": "torch.nested",
}  # fmt: skip


def get_plain_name(func: Any) -> str:
    """Return the last part of a name: `relu` for `torch.nn.functional.relu`."""
    if isinstance(func, torch._ops.OpOverloadPacket):
        return str(func.__name__)
    if isinstance(func, torch._ops.OpOverload):
        return str(func._schema.name.split("::")[-1])
    name = getattr(func, "__name__", None) or type(func).__name__
    if name == "fn":  # torch.nn.functional's boolean dispatch hides the name
        name = _map_dispatched_names().get(func, name)
    if name in ("__get__", "__set__"):
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    return str(name)


def get_display_name(func: Any) -> str:
    """Return the name used in the record: `F.relu`, `torch.cat`, `Tensor.view`, `+`."""
    name = get_plain_name(func)
    if isinstance(func, torch._ops.OpOverloadPacket | torch._ops.OpOverload):
        text = str(func)
        return "torch.ops." + text
    if name in OPERATORS:
        return OPERATORS[name]
    owner = getattr(func, "__objclass__", None)
    if owner is not None or getattr(func, "__name__", "") in ("__get__", "__set__"):
        return f"Tensor.{name}"
    module = getattr(func, "__module__", None) or "torch"
    if name.startswith("linalg_"):
        return f"torch.linalg.{name.removeprefix('linalg_')}"
    if name.startswith("fft_") and module == "torch._C._fft":
        return f"torch.fft.{name.removeprefix('fft_')}"
    if name.startswith("special_"):
        return f"torch.special.{name.removeprefix('special_')}"
    if module == "torch" and vars(torch.nn.functional).get(name) is func:
        return f"F.{name}"  # torch.conv2d and F.conv2d are one object
    return f"{PREFIXES.get(module, module)}.{name}"


LONG = {
    "F.": "torch.nn.functional.", "Tensor.": "torch.Tensor.",
    "nn.init.": "torch.nn.init.",
}  # fmt: skip
BY_SYMBOL = {
    "[]": "__getitem__", "[]=": "__setitem__", "+": "add", "-": "sub", "*": "mul",
    "/": "div", "//": "__floordiv__", "%": "remainder", "**": "pow", "@": "matmul",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip


def get_dotted_name(func: Any) -> str:
    """Return the full name: `torch.nn.functional.relu`, `torch.Tensor.add`."""
    name = get_plain_name(func)
    return (
        f"torch.Tensor.{name}"
        if name in OPERATORS
        else get_long_name(get_display_name(func))
    )


def get_long_name(shown: str) -> str:
    """Return the full dotted name for a name in the record, as far as it is known."""
    if shown in BY_SYMBOL:
        return f"torch.Tensor.{BY_SYMBOL[shown]}"
    for short, long in LONG.items():
        if shown.startswith(short):
            return long + shown.removeprefix(short)
    return shown


_dispatched: dict[Any, str] = {}


def _map_dispatched_names() -> dict[Any, str]:
    if not _dispatched:
        for name, value in vars(torch.nn.functional).items():
            if getattr(value, "__name__", "") == "fn":
                _dispatched[value] = name
    return _dispatched
