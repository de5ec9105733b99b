"""Spare keys of torch's dispatcher, and which operators have kernels for a key.

The dispatcher of torch decides by keys which kernel of an operator runs. Private torch
API that is used here, and why:

- `torch._C._dispatch_tls_set_dispatch_key_included` and `..._excluded`: meta tensors
  have no key of autocast, so it must be added to every call of this thread.
- `torch._C._ExcludeDispatchKeyGuard`: a kernel must call its operator without itself.
- `torch._C._dispatch_get_all_op_names`, `..._has_kernel_for_dispatch_key` and
  `..._has_backend_fallback`: which operators autocast has kernels for, which differs
  between versions, and whether somebody uses a key.
- `Library._destroy`: the only way to remove a registration at a certain time.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch


def list_kernels(key: str) -> list[Any]:
    """Return the operators that have a kernel of their own for a dispatch key."""
    operators = []
    for full_name in torch._C._dispatch_get_all_op_names():
        space, _, name = full_name.partition("::")
        if space != "aten" or not torch._C._dispatch_has_kernel_for_dispatch_key(
            full_name, key
        ):
            continue
        base, _, overload = name.partition(".")
        packet = getattr(torch.ops.aten, base, None)
        operator = getattr(packet, overload or "default", None)
        if operator is not None:
            operators.append(operator)
    return operators


class DispatchKeySwitch:
    """Switches a spare dispatch key on and off in this thread.

    Operators without a kernel for the key pass it by.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = getattr(torch._C.DispatchKey, name)
        self.keys = torch._C.DispatchKeySet(self.key)
        self.before = (
            torch._C._dispatch_tls_is_dispatch_key_excluded(self.key),
            torch._C._dispatch_tls_is_dispatch_key_included(self.key),
        )
        self.fallback: torch.library.Library | None = None

    @staticmethod
    def find(names: Iterable[str]) -> DispatchKeySwitch | None:
        """Return a switch for the first key that this torch has and nobody uses."""
        functions = (
            "_dispatch_tls_set_dispatch_key_included",
            "_dispatch_tls_set_dispatch_key_excluded",
            "_dispatch_has_backend_fallback",
            "_ExcludeDispatchKeyGuard",
        )
        if not all(hasattr(torch._C, name) for name in functions):
            return None
        for name in names:
            key = getattr(torch._C.DispatchKey, name, None)
            if key is not None and not torch._C._dispatch_has_backend_fallback(key):
                return DispatchKeySwitch(name)
        return None

    def set(self, enabled: bool) -> None:
        """Switch the key on or off."""
        if enabled and self.fallback is None:
            self.fallback = torch.library.Library("_", "IMPL", self.name)
            self.fallback.fallback(torch.library.fallthrough_kernel)
        torch._C._dispatch_tls_set_dispatch_key_excluded(self.key, not enabled)
        torch._C._dispatch_tls_set_dispatch_key_included(self.key, enabled)

    def suspended(self) -> AbstractContextManager[Any]:
        """Switch the key off within the block."""
        return torch._C._ExcludeDispatchKeyGuard(self.keys)

    def reset(self) -> None:
        """Put back what was there before."""
        excluded, included = self.before
        torch._C._dispatch_tls_set_dispatch_key_excluded(self.key, excluded)
        torch._C._dispatch_tls_set_dispatch_key_included(self.key, included)
        if self.fallback is not None:
            self.fallback._destroy()
            self.fallback = None
