"""A value of what is not on this machine: it has every attribute, and no size.

It may be named, called, kept and printed. Where control flow or a shape would depend on
it, `NotHere` says which name that is, and what to give.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

from shapewright.engine.absence import NotHere, ValueNotHere
from shapewright.engine.call_sites import USER, classify_file

Given = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]
"""What the user says that a name gives when it is called; `NOTHING` if nothing."""
NOTHING = object()


class AbsentValue(ValueNotHere):
    """A value that a package or a file would have given.

    `_path` is how the program writes it: ``pandas.read_csv(...)``; `_advice` what to do
    where it is needed; `_given` what the user has said of it.
    """

    def __init__(self, path: str, advice: str, answers: Given | None = None) -> None:
        self.__dict__.update(_path=path, _advice=advice, _given=answers)

    def _ask(self, doing: str) -> NoReturn:
        raise NotHere(self._write_question(doing))

    def _write_question(self, doing: str) -> str:
        """Return the sentence that asks for it, since something depends on it."""
        advice = str(self._advice).replace("NAME", self._path.replace("(...)", ""))
        return f"`{self._path}` is not known here, and {doing} depends on it: {advice}"

    def _make(self, path: str) -> Any:
        """Return what the user says of a name, or a further unknown value."""
        if self._given is not None:
            answer = self._given(path, (), {})
            if answer is not NOTHING:
                return answer
        return AbsentValue(path, self._advice, self._given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._make(f"{self._path}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and _is_decorator(args[0]):
            return args[0]
        if self._given is not None:
            answer = self._given(f"{self._path}()", args, kwargs)
            if answer is not NOTHING:
                return answer
        if args and isinstance(args[0], FunctionType) and _is_main_statement():
            self._ask(f"whether `{args[0].__name__}` runs")
        value = AbsentValue(f"{self._path}(...)", self._advice, self._given)
        value.__dict__.update(kwargs)  # `HParams(epochs=5).epochs` is 5
        return value

    def __getitem__(self, key: Any) -> Any:
        return self._make(f"{self._path}[{key!r}]")

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<{self._path}, which is not known here>"

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (_make_base(self._path, self._advice),)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self._is(other)

    def __ne__(self, other: object) -> bool:
        return not self._is(other)

    def _is(self, other: object) -> bool:
        """Return whether this is the other; ask if the program wants to know it."""
        if self is other:
            return True
        # `inspect` and `dataclasses` compare what they are given with what they know
        if classify_file(sys._getframe(2).f_code.co_filename) != USER:
            return False
        return self._ask("a comparison")

    def __bool__(self) -> bool:
        return self._ask("a condition")

    def __iter__(self) -> Any:
        return self._ask("a loop")

    def __len__(self) -> int:
        return self._ask("a length")

    def __int__(self) -> int:
        return self._ask("a number")

    __index__ = __float__ = __complex__ = __int__

    def __contains__(self, item: object) -> bool:
        return self._ask("a condition")

    def __fspath__(self) -> str:
        return self._ask("the name of a file")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("an array")

    def _combine(self, *others: Any) -> Any:
        return self._ask("a calculation")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _combine
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _combine
    __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _combine
    __and__ = __rand__ = __neg__ = __abs__ = _combine
    __lt__ = __le__ = __gt__ = __ge__ = _combine

    def __or__(self, other: Any) -> Any:
        return self  # `Name | None` in an annotation

    __ror__ = __or__

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        value = _find_absent_value((args, kwargs))
        if value is not None:
            value._ask(f"`{getattr(func, '__name__', 'a call of torch')}`")
        return NotImplemented


def _find_absent_value(values: Any) -> AbsentValue | None:
    """Return the first unknown value in a nest of tuples, lists and dicts."""
    if isinstance(values, AbsentValue):
        return values
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, list | tuple):
        for value in values:
            absent = _find_absent_value(value)
            if absent is not None:
                return absent
    return None


def _is_decorator(value: Any) -> bool:
    """Return whether a call stands in a line that decorates its argument."""
    if not callable(value):
        return False
    frame = sys._getframe(2)
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return line.lstrip().startswith("@")


def _is_main_statement() -> bool:
    """Return whether a call is a statement of a module, as in ``app.run(main)``: what
    becomes of its arguments is all that it is for.
    """
    frame = sys._getframe(2)
    if frame.f_code.co_name != "<module>":
        return False
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and node.lineno <= frame.f_lineno <= (node.end_lineno or 0)
        for node in ast.walk(tree)
    )


def _make_base(path: str, advice: str) -> type:
    """Return the base of a class that derives from what is not known."""

    class Base:
        """A class of a package that is not on this machine."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            AbsentValue(path, advice)._ask(f"`{type(self).__name__}.{name}`")

    Base.__name__ = Base.__qualname__ = path.rpartition(".")[2]
    return Base
