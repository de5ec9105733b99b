"""Functions of stand-ins, with what their originals return and refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Refusal = tuple[Callable[[], Any], type[Exception], str]


@dataclass(frozen=True)
class Row:
    """A call on small tensors: its shape, its dtype, and its value if a plain formula
    gives it; and a call that the original refuses, the error and a part of its words.
    """

    call: Callable[[], Any]
    shape: tuple[int, ...]
    value: Callable[[], Tensor] | None = None
    refused: Refusal | None = None
    dtype: torch.dtype = torch.float32


torch.manual_seed(0)
"""The tensors of the rows are drawn when the files are imported."""
