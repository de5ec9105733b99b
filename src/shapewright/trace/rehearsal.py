"""The story of a rehearsed run: its loops, loaders and steps, as data."""

from __future__ import annotations

from dataclasses import dataclass, field

from shapewright.trace.training import Training


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened at a line, and what happened within it.

    `kind` is `run` (the whole), `loop`, `batches`, `backward`, `step`, `zero_grad`,
    `schedule`, `save`, `load`, `group`, `train` or `eval`. `count` is how often it
    happened. `turns` are the turns of a loop, or the batches of a loader, that ran,
    from 1, and `total` how many a real run has (None: nobody knows); `ran` counts the
    turns of all runs of a loop. `shapes` are, in words, what came out, in the order of
    first sight.
    """

    kind: str
    file: str = ""
    line: int = 0
    text: str = ""
    count: int = 1
    turns: tuple[int, ...] = ()
    total: int | None = None
    shapes: tuple[str, ...] = ()
    inner: tuple[Moment, ...] = ()
    ran: int = 0


@dataclass(frozen=True, slots=True)
class Gradient:
    """A value of a training, and the gradient that came to it.

    `kind` is `output` (of a module, at its first call in training), `parameter`, or
    `frozen` for a parameter that asks for no gradient. `gradient` is its shape, None
    where none came; `layout` is `strided` or `sparse_coo`.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    gradient: tuple[int, ...] | None = None
    gradient_dtype: str = ""
    layout: str = ""


@dataclass(frozen=True, slots=True)
class Remainder:
    """A last batch with fewer samples than the others, in a loop that trains.

    `file` and `line` are where its loader, of a class of that `name`, was constructed;
    the program worked with it from the op `began` until before the op `ended`.
    """

    file: str
    line: int
    name: str
    samples: int
    usual: int
    began: int
    ended: int


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What was rehearsed: `story` is the whole run, `skipped` what was not done.

    `gradients` stand beside their values, module by module.
    """

    device: str
    story: Moment
    skipped: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    seconds: float = 0.0
    steps: int = 0
    training: Training = field(default_factory=Training)
    gradients: tuple[Gradient, ...] = ()
