"""Replay of a recipe at several sizes at once, by rules or data-free torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from shapewright.engine import nests
from shapewright.engine.dispatch.answers import flatten_outputs
from shapewright.engine.identity import (
    DTYPE_NAMES,
    DTYPES,
    Info,
    Meta,
    compute_contiguous_stride,
)
from shapewright.engine.memo import Answer, get_arguments
from shapewright.engine.recipes.recipe import (
    TENSOR,
    Recipe,
    RecipeStep,
    Sample,
    TensorPlace,
    Underivable,
    change_leaves,
    find_slice_numbers,
    find_whole_numbers,
    is_index,
)
from shapewright.findings.faults import raise_in_tests
from shapewright.operators.metadata_rules import Misfit, Same, setting
from shapewright.record.guards import (
    COMPARED,
    Applied,
    Expression,
    SizeRead,
    evaluate_expression,
)

Shape = tuple[int, ...]
Layout = tuple[Shape, Shape]
"""Shape and stride."""


class _Column:
    """The metadata of one tensor at each size, or None where it is not known."""

    __slots__ = (
        "_tensors",
        "constant",
        "layouts",
        "metas",
        "sample",
        "shapes",
        "strides",
    )

    def __init__(self, layouts: tuple[Layout | None, ...], sample: Meta) -> None:
        self.layouts = layouts
        self.sample = sample
        self.constant = len(set(layouts)) == 1 and layouts[0] is not None
        kind, device, grad = sample.torch_dtype, sample.device, sample.requires_grad
        metas: dict[Layout, Meta] = {}
        self.metas: list[Meta | None] = []
        for layout in layouts:
            meta = None if layout is None else metas.get(layout)
            if meta is None and layout is not None:
                meta = Meta(layout[0], layout[1], kind, 0, device, grad, "strided")
                metas[layout] = meta
            self.metas.append(meta)
        self.shapes = [None if layout is None else layout[0] for layout in layouts]
        self.strides = [None if layout is None else layout[1] for layout in layouts]
        self._tensors: dict[int, torch.Tensor] = {}

    def tensor(self, at: int) -> torch.Tensor:
        """Return a data-free tensor at one of the sizes."""
        blank = self._tensors.get(at)
        if blank is None:
            layout = self.layouts[at]
            assert layout is not None
            blank = self._tensors[at] = torch.empty_strided(
                *layout, dtype=self.sample.torch_dtype, device="meta"
            )
        return blank


class _Columns:
    """All tensors of a run at some sizes; equal columns are one object."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made: dict[Any, _Column] = {}
        self.of: dict[int, _Column] = {}  # by identity of what is known of a tensor
        self.numbers: dict[int, _Column] = {}  # by number of the tensor

    def column(self, layouts: tuple[Layout | None, ...], meta: Meta) -> _Column:
        """Return the column with these layouts."""
        key = layouts, meta.dtype, meta.device, meta.requires_grad
        column = self.made.get(key)
        if column is None:
            column = self.made[key] = _Column(layouts, meta)
        return column

    def constant(self, meta: Meta) -> _Column:
        """Return the column of a tensor that is the same at all sizes."""
        column = self.made.get(meta)
        if column is None:
            layouts = ((meta.shape, meta.stride),) * self.count
            column = self.made[meta] = self.column(layouts, meta)
        return column

    def put(self, info: Info, column: _Column) -> None:
        """Store the results of a call."""
        self.of[id(info)] = column
        self.numbers[info.number] = column

    def get(self, info: Info) -> _Column:
        """Return an input tensor; one that no call returned is equal at all sizes."""
        column = self.of.get(id(info))
        if column is None:
            column = self.constant(info.meta)
            self.put(info, column)
        return column


NAMED: dict[str, Any] = {
    **DTYPES,
    **{
        str(constant).removeprefix("torch."): constant
        for constant in (
            torch.strided, torch.contiguous_format, torch.preserve_format,
            torch.channels_last, torch.channels_last_3d,
        )
    },
}  # fmt: skip

PLAIN = frozenset({int, float, bool, str, type(None)})
Layouts = tuple[Layout, ...]


def _answer_step(
    step: RecipeStep, columns: Sequence[_Column], at: int, numbers: Sequence[int]
) -> Layouts | None:
    """Return the result of a call at one size, or None if the call is rejected."""
    metas = [column.metas[at] for column in columns]
    if any(meta is None for meta in metas):
        return None
    if step.rule is not None:
        arguments = _fill_arguments(step.arguments, iter(metas), iter(numbers))
        if step.torchs:
            arguments = nests.to_plain(arguments, lambda _: None)
        try:
            outputs = step.rule.metadata(*arguments[0], **arguments[1])
        except (TypeError, AttributeError):
            outputs = NotImplemented
        except Misfit:
            return None
        except Exception as fault:  # ours: the rule fails at these sizes
            raise_in_tests(fault)
            return None
        if isinstance(outputs, Same):
            meta = (
                metas[outputs.argument] if isinstance(outputs.argument, int) else None
            )
            return None if meta is None else ((meta.shape, meta.stride),)
        if outputs is not NotImplemented:
            return _answer_by_rule(flatten_outputs(outputs), step.outs)
    return _ask_torch(step, columns, at, numbers)


def _answer_by_rule(outputs: Any, outs: Sequence[Info]) -> Layouts | None:
    """Return the result of a rule if it consists of the same tensors as in the run."""
    if outputs is None or len(outputs) != len(outs):
        return None
    if any(m.dtype != out.meta.dtype for m, out in zip(outputs, outs, strict=True)):
        return None
    return tuple(
        (
            tuple(m.shape),
            compute_contiguous_stride(tuple(m.shape))
            if m.stride is None
            else tuple(m.stride),
        )
        for m in outputs
    )


def _ask_torch(
    step: RecipeStep, columns: Sequence[_Column], at: int, numbers: Sequence[int]
) -> Layouts | None:
    """Return torch's own result on data-free tensors."""
    tensors = iter([column.tensor(at) for column in columns])
    arguments = _fill_arguments(step.arguments, tensors, iter(numbers))
    if not step.torchs:
        arguments = _resolve_types(arguments)
    args, kwargs = nests.replace_devices(arguments)
    try:
        if columns:
            out = step.answer.func(*args, **kwargs)
        else:
            with torch.device("meta"):
                out = step.answer.func(*args, **kwargs)
    except Exception:  # torch refuses these sizes
        return None
    results = nests.collect_tensors(out)
    kinds = [info.meta.torch_dtype for info in step.outs]
    if [tensor.dtype for tensor in results] != kinds:
        return None
    return tuple((tuple(tensor.shape), tensor.stride()) for tensor in results)


def _resolve_types(value: Any) -> Any:
    """Convert the names of torch's types among the arguments to these types."""
    return change_leaves(
        value, lambda leaf: NAMED.get(leaf, leaf) if type(leaf) is str else leaf
    )


def _fill_arguments(value: Any, tensors: Iterator[Any], numbers: Iterator[int]) -> Any:
    """Return the arguments with tensors and sizes in place of their markers."""
    args, kwargs = value
    if not kwargs or PLAIN.issuperset(map(type, kwargs.values())):
        kinds = set(map(type, args))
        kinds.discard(TensorPlace)
        if PLAIN.issuperset(kinds):
            filled = [
                next(tensors) if argument is TENSOR else argument for argument in args
            ]
            return tuple(filled), kwargs
    return _change_nest(
        value, lambda marker: next(tensors if marker is TENSOR else numbers)
    )


def _change_nest(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested arguments with their tensors and expressions replaced, in order."""

    def changed(leaf: Any) -> Any:
        is_size = type(leaf) is SizeRead or type(leaf) is Applied
        return change(leaf) if leaf is TENSOR or is_size else leaf

    return change_leaves(value, changed)


A_TENSOR = Meta((), (), torch.float32, 0, "cpu", False, "strided")
Shapes = tuple[tuple[int, ...], ...]
Row = tuple[Shapes, Shapes, Shapes, tuple[int, ...]]


class _Done:
    """A call at all sizes: its results, and its row of the sample at each size."""

    __slots__ = ("number", "outs", "rows")

    def __init__(self, outs: tuple[_Column, ...], rows: list[Row | None]) -> None:
        self.outs = outs
        self.rows = rows
        self.number = 0


class Deriving:
    """Computes a recipe at some sizes; `shapes` are the shapes of its inputs.

    `own`: the first sizes are those of the run itself, and must give what it gave.
    """

    def __init__(
        self,
        recipe: Recipe,
        keys: tuple[Any, ...],
        shapes: Sequence[Sequence[Any]],
        own: bool = True,
    ) -> None:
        self.own = own
        self.recipe = recipe
        self.keys = keys
        self.count = len(shapes)
        self.columns = _Columns(self.count)
        self.ends = [len(recipe.steps) + 1] * self.count
        self.done: dict[Any, _Done] = {}
        self.classes: list[int] = []  # calls of one class say the same at all sizes
        self.values: dict[Expression, tuple[Any, ...]] = {}
        for nth, info in enumerate(recipe.given):
            input_shapes = tuple(
                [tuple(map(int, size_shapes[nth])) for size_shapes in shapes]
            )
            layouts = tuple(
                [(shape, compute_contiguous_stride(shape)) for shape in input_shapes]
            )
            self.columns.put(info, self.columns.column(layouts, info.meta))

    def samples(self, letters: Sequence[Mapping[str, int]]) -> list[Sample]:
        """Return a sample for each size, up to where it leaves the run's path."""
        setting.default_dtype = DTYPE_NAMES[torch.get_default_dtype()]
        guards = iter([*self.recipe.guards, (len(self.recipe.steps) + 1, None)])
        before, sides = next(guards)
        calls: list[list[Row | None]] = []
        with warnings.catch_warnings(), torch._C.DisableTorchFunction():
            warnings.simplefilter("ignore")
            for at, step in enumerate(self.recipe.steps):
                while before <= at and sides is not None:
                    self.look(sides, at)
                    before, sides = next(guards)
                calls.append(self.step(step, at))
        while sides is not None:
            self.look(sides, len(calls))
            before, sides = next(guards)
        output = [self.columns.get(info).layouts for info in self.recipe.output]
        return [
            self.sample(at, calls, output, sizes) for at, sizes in enumerate(letters)
        ]

    def look(self, sides: Any, step: int) -> None:
        """Evaluate a comparison; sizes at which its result differs end at `step`."""
        left, operator, right, outcome = sides
        compare = COMPARED[operator]
        pairs = zip(self.value(left), self.value(right), strict=True)
        for at, (left_value, right_value) in enumerate(pairs):
            if (
                left_value is None
                or right_value is None
                or bool(compare(left_value, right_value)) != outcome
            ):
                self.ends[at] = min(self.ends[at], step)

    def value(self, expression: Expression) -> tuple[Any, ...]:
        """Evaluate an expression of the program at each of the sizes."""
        if not isinstance(expression, SizeRead):
            values = self.values.get(expression)
            if values is None:
                values = self.values[expression] = self.apply_at_sizes(expression)
            return values
        column = self.columns.numbers.get(expression.tensor)
        if column is None or expression.dim >= len(column.sample.shape):
            return (expression.value,) * self.count
        dim = expression.dim
        return tuple([None if e is None else e[0][dim] for e in column.layouts])

    def apply_at_sizes(self, expression: Expression) -> tuple[Any, ...]:
        parts = getattr(expression, "parts", None)
        if parts is None:
            return (expression,) * self.count
        inner = list(zip(*[self.value(part) for part in parts], strict=True))
        results: dict[tuple[Any, ...], Any] = {}
        for operands in inner:
            if operands not in results:
                results[operands] = (
                    None if None in operands else _apply_operator(expression, operands)
                )
        return tuple([results[operands] for operands in inner])

    def step(self, step: RecipeStep, at: int) -> list[Row | None]:
        """Compute a call at all sizes, or reuse an equal one."""
        get = self.columns.get
        ins = tuple([get(info) for info in step.ins])
        numbers = tuple([self.value(expression) for expression in step.expressions])
        key = (
            step.answer.func, step.form, ins, numbers, step.answer.kind,
            tuple([out.meta for out in step.outs]),
        )  # fmt: skip
        done = self.done.get(key)
        if done is None:
            done = self.done[key] = self.work(step, ins, numbers)
            done.number = len(self.done)
        self.classes.append(done.number)
        for info, column in zip(step.outs, done.outs, strict=True):
            self.columns.put(info, column)
        if None in done.rows:
            for size, row in enumerate(done.rows):
                if row is None:
                    self.ends[size] = min(self.ends[size], at)
        return done.rows

    def work(
        self,
        step: RecipeStep,
        ins: tuple[_Column, ...],
        numbers: tuple[tuple[Any, ...], ...],
    ) -> _Done:
        """Compute a call that equals no earlier call."""
        rows_of_numbers = (
            list(zip(*numbers, strict=True)) if numbers else [()] * self.count
        )
        if all(column.constant for column in ins) and not numbers:
            outs = tuple([self.columns.constant(out.meta) for out in step.outs])
        elif step.written is not None:
            outs = tuple([self.rewrite_tensor(step) for _ in step.outs])
        else:
            outs = self.work_at_sizes(step, ins, rows_of_numbers)
        for out, column in zip(step.outs, outs, strict=True):
            if self.own and column.layouts[0] != (out.meta.shape, out.meta.stride):
                raise Underivable("a call that answers otherwise than in the run")
        taken = _collect_columns([column.shapes for column in ins], self.count)
        gave = _collect_columns([column.shapes for column in outs], self.count)
        steps = _collect_columns([column.strides for column in outs], self.count)
        plain = [
            _find_whole_numbers(step, row_numbers)
            for row_numbers in dict.fromkeys(rows_of_numbers)
        ]
        whole_numbers = dict(zip(dict.fromkeys(rows_of_numbers), plain, strict=True))
        rows: list[Row | None] = []
        for at in range(self.count):
            inputs, outputs, strides = taken[at], gave[at], steps[at]
            known = inputs is not None and outputs is not None and strides is not None
            fully = known and None not in rows_of_numbers[at]
            rows.append(
                (inputs, outputs, strides, whole_numbers[rows_of_numbers[at]])
                if fully
                else None
            )
        return _Done(outs, rows)

    def rewrite_tensor(self, step: RecipeStep) -> _Column:
        """Return the metadata of a tensor that is written, which does not change."""
        written = step.written
        assert written is not None
        (out, *others) = step.outs
        same = (out.meta.shape, out.meta.stride) == (
            written.meta.shape,
            written.meta.stride,
        )
        if others or not same:
            raise Underivable("a call that changes a tensor's shape in place")
        return self.columns.column(self.columns.get(written).layouts, out.meta)

    def work_at_sizes(
        self,
        step: RecipeStep,
        ins: tuple[_Column, ...],
        rows_of_numbers: list[tuple[Any, ...]],
    ) -> tuple[_Column, ...]:
        """Compute the result once for all sizes that have equal inputs."""
        computed: dict[Any, Layouts | None] = {}
        answers: list[Layouts | None] = []
        for at in range(self.count):
            key = (tuple([column.layouts[at] for column in ins]), rows_of_numbers[at])
            if key not in computed:
                known = None not in rows_of_numbers[at]
                computed[key] = (
                    _answer_step(step, ins, at, rows_of_numbers[at]) if known else None
                )
            answers.append(computed[key])
        outs = []
        for nth, out in enumerate(step.outs):
            layouts = tuple(
                [None if answer is None else answer[nth] for answer in answers]
            )
            outs.append(self.columns.column(layouts, out.meta))
        return tuple(outs)

    def sample(
        self,
        at: int,
        calls: list[list[Row | None]],
        output: list[tuple[Layout | None, ...]],
        letters: Mapping[str, int],
    ) -> Sample:
        """Return the sample of a run at one size, up to where it leaves the path."""
        end = self.ends[at]
        rows: list[Any] = [call[at] for call in calls[:end]]
        if end > len(calls):
            shapes = tuple([item[at][0] for item in output if item[at] is not None])  # type: ignore[index]
            if len(shapes) == len(output):
                rows.append(((), shapes, (), ()))
        taken, gave, steps, numbers = zip(*rows, strict=True) if rows else ((),) * 4
        keys = self.keys[: len(rows)]
        return Sample(dict(letters), keys, taken, gave, steps, numbers)


def _apply_operator(expression: Any, parts: tuple[Any, ...]) -> Any:
    """Apply an operator; return None if Python raises an error."""
    bare = type(expression)(expression.operator, parts)
    try:
        return evaluate_expression(bare, {})
    except (ArithmeticError, ValueError, TypeError):
        return None


def _collect_columns(parts: Sequence[Sequence[Any]], count: int) -> list[Any]:
    """Return the shapes or strides of tensors at each size; None if one is unknown."""
    if not parts:
        return [()] * count
    rows = list(zip(*parts, strict=True))
    if any(None in part for part in parts):
        return [None if None in row else row for row in rows]
    return rows


def _find_whole_numbers(step: RecipeStep, numbers: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the integers among the arguments of a call in the order of a sample."""
    values = iter(numbers)

    def fill(marker: Any) -> Any:
        return A_TENSOR if marker is TENSOR else next(values)

    answer = step.answer
    if step.expressions:
        filled = _change_nest(step.arguments, fill)
        answer = Answer(step.answer.func, filled, step.answer.kind)
    call_arguments = get_arguments(answer)
    ends = find_slice_numbers(call_arguments) if is_index(answer.func) else ()
    return (*find_whole_numbers(call_arguments), *ends)
