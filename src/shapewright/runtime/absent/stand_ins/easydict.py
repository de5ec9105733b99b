"""easydict: dicts whose keys are attributes."""

from __future__ import annotations

from typing import Any

SOURCE = "signatures of https://github.com/makinacorpus/easydict, 1.13"
VERSION = "1.13.0"


class EasyDict(dict[str, Any]):
    """A dict whose keys are attributes, at every level."""

    def __init__(self, d: Any = None, **kwargs: Any) -> None:
        super().__init__()
        for name, value in {**(d or {}), **kwargs}.items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, _convert_nest(value))

    __setattr__ = __setitem__

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Take the values of another dict."""
        for name, value in dict(*args, **kwargs).items():
            self[name] = value


def _convert_nest(value: Any) -> Any:
    if isinstance(value, dict) and not isinstance(value, EasyDict):
        return EasyDict(value)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(_convert_nest, value))
    return value


MODULES: dict[str, dict[str, Any]] = {"": {"EasyDict": EasyDict}}
