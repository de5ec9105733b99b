"""What `torch.compile` gives in a run that compiles nothing.

torch wraps a module in one whose only child is `_orig_mod`: the keys of its state dict
begin with that name, and a plain model does not load them.
"""

from __future__ import annotations

from typing import Any

from torch import nn

OWN = frozenset({"_orig_mod", "training", "_parameters", "_buffers", "_modules"})


class _OptimizedModule(nn.Module):
    """A module around another one, which it calls as it is; torch's has this name, too.

    Example: the state dict of ``torch.compile(nn.Linear(2, 1))`` has the keys
    ``_orig_mod.weight`` and ``_orig_mod.bias``.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["training"] = module.training

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module within; nothing is recorded of this one."""
        return self._modules["_orig_mod"](*args, **kwargs)  # type: ignore[misc]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the `forward` of the module within."""
        return self._modules["_orig_mod"].forward(*args, **kwargs)  # type: ignore[union-attr]

    def train(self, mode: bool = True) -> _OptimizedModule:
        """Put the module within into training mode, or into evaluation."""
        self._modules["_orig_mod"].train(mode)  # type: ignore[union-attr]
        self.__dict__["training"] = mode
        return self

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module within."""
        module = self.__dict__["_modules"]["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __len__(self) -> int:
        """Return the length of the module within, as of an `nn.Sequential`."""
        return len(self._modules["_orig_mod"])  # type: ignore[arg-type]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the module within."""
        if name in OWN or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)


_OptimizedModule.__name__ = "OptimizedModule"  # as torch's is called


def leave_uncompiled(target: Any = None, **_: Any) -> Any:
    """Return what `torch.compile` returns: a wrapped module, or the function itself."""
    if target is None:
        return leave_uncompiled
    if isinstance(target, nn.Module) and not isinstance(target, _OptimizedModule):
        return _OptimizedModule(target)
    return target
