"""Data sets of the program whose items the user says: `--data NAME[LENGTH]=ITEM`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from torch.utils.data import Dataset

from shapewright.runtime.absent.given_values import make_values
from shapewright.runtime.absent.settings import GivenData, GivenTensors, StandInSettings
from shapewright.runtime.absent.tellers import Tell


@contextmanager
def replace_given_data_sets(settings: StandInSettings, tell: Tell) -> Iterator[None]:
    """Let the named classes have the items that the user says, and need no files."""
    if not any(data.length for data in settings.data):
        yield
        return
    original = Dataset.__dict__.get("__init_subclass__")

    def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
        super(Dataset, cls).__init_subclass__(**kwargs)
        data = settings.find_class(cls.__name__)
        if data is not None:
            _replace_items(cls, data, tell)

    Dataset.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[assignment]
    try:
        yield
    finally:
        if original is None:
            with suppress(AttributeError):
                del Dataset.__init_subclass__
        else:
            Dataset.__init_subclass__ = original  # type: ignore[method-assign]


def _replace_items(kind: Any, data: GivenData, tell: Tell) -> None:
    """Replace the constructor, the length and the items of a data set class."""
    constructor = vars(kind).get("__init__")
    holds = data.holds
    assert isinstance(holds, GivenTensors)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        tell(f"the items of `{data.name}`", f"`{data.text}`", "given")
        if constructor is not None:
            with suppress(Exception):  # what reads the files that are not there
                constructor(self, *args, **kwargs)

    def __len__(self: Any) -> int:
        return data.length

    def __getitem__(self: Any, index: Any) -> Any:
        place = int(index)
        if not -data.length <= place < data.length:
            raise IndexError(index)
        return make_values(holds, place)

    made_here = {"__init__": __init__, "__len__": __len__, "__getitem__": __getitem__}
    for name, method in made_here.items():
        setattr(kind, name, method)
