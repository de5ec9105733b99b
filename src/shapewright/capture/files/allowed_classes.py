"""What `torch.load` refuses of what was saved: classes that nobody has allowed.

torch itself is asked, with a file that holds all but the tensors.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

TENSORS = (torch.Tensor, nn.Parameter, nn.Buffer)
"""Kinds of tensors that torch always loads."""

OURS = "shapewright"


class WithoutTensors(pickle.Pickler):
    """Writes something that is always allowed in place of each tensor."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in TENSORS:
            return OrderedDict, ()
        return NotImplemented


def must_be_allowed(
    save: Callable[..., Any],
    load: Callable[..., Any],
    thing: Any,
    *args: Any,
    **named: Any,
) -> None:
    """Raise what `torch.load` raises of something that was saved."""
    file = io.BytesIO()
    module = SimpleNamespace(Pickler=WithoutTensors, __name__=__name__)
    with torch._C.DisableTorchFunction():
        try:
            save(thing, file, pickle_module=module)
        except Exception:
            return  # nobody knows what stands in such a file
        file.seek(0)
        try:
            load(file, None, *args, **named)
        except pickle.UnpicklingError as error:
            if OURS not in str(error):
                raise
        except Exception:
            return
