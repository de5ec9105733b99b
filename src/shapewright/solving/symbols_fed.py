"""The arguments of a call whose sizes are torch's symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapewright.solving.feeding import Feeding


def symbolic_arguments(
    feeding: Feeding, given: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, tensors with symbolic sizes among them."""
    from shapewright.inputs import size
    from shapewright.inputs.spec import Spec, mapped
    from shapewright.inputs.tensor_reader import Written
    from shapewright.runtime.symbolic.fake_models import fed

    letters = {**feeding.letters, **given}

    def leaf(value: Any, name: str) -> Any:
        if isinstance(value, Written):
            shape = [size.value(each, letters) for each in value.sizes]
            return fed(shape, value.dtype, value.device)
        if isinstance(value, size.Letter | size.Arithmetic):
            return size.value(value, letters)
        return value

    def of(spec: Spec) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = spec.written
        named = {name: mapped(value, leaf) for name, value in kwargs.items()}
        return [mapped(value, leaf) for value in args], named

    specs = dict(feeding.specs)
    args: list[Any] = []
    named: dict[str, Any] = {}
    for place, value in enumerate(feeding.args):
        more, by_name = of(specs[place]) if place in specs else ([value], {})
        args += more
        named |= by_name
    for name, value in feeding.kwargs.items():
        named[name] = of(specs[name])[0][0] if name in specs else value
    return tuple(args), named
