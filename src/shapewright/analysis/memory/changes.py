"""Changes to a training that lower its memory: `bf16`, `checkpoint:Block`, `batch=64`.

A change is read from text, and says with which edit of the program it is made. Nothing
here says what it saves: that is rehearsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from shapewright.record.memory import OPTIMIZER, STEP, Memory

OFFLOADED_FROM = 4096
"""Elements of the smallest parameter whose state torchao's `CPUOffloadOptimizer` keeps
on the host, by default."""

NAMES = (
    "bf16", "fp16", "checkpoint:CLASS", "batch=N", "accumulate=N", "no-foreach",
    "offload-optimizer",
)  # fmt: skip


class UnknownChange(ValueError):
    """Raised for a text that is no change."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is done differently, and the lines of code that do it.

    `text` is how it is written. `sizes` are letters of the inputs, "" for the batch,
    whichever letter that is. `accumulated` is into how many parts a batch is divided.
    """

    text: str
    edits: tuple[str, ...] = ()
    autocast: str = ""
    checkpointed: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    optimizer: str = ""
    is_foreach: bool = True
    accumulated: int = 1
    is_offloaded: bool = False

    @property
    def subjects(self) -> frozenset[str]:
        """Return what it concerns; changes of one subject exclude each other."""
        facts = {
            "dtype": bool(self.autocast),
            "recomputation": bool(self.checkpointed),
            "batch": bool(self.sizes) or self.accumulated > 1,
            "optimizer": bool(self.optimizer)
            or self.is_offloaded
            or not self.is_foreach,
        }
        return frozenset(name for name, concerns in facts.items() if concerns)


def read_change(text: str, device: str = "cuda", optimizer: str = "AdamW") -> Change:
    """Read ``"bf16, checkpoint:Block"``; raise `UnknownChange` for anything else.

    `device` is the kind of the device and `optimizer` the class of the one in use, for
    the edits. A name that is no change is taken for an optimizer.
    """
    parts = _split_parts(text)
    if not parts:
        raise UnknownChange(f"no change is named; there is {', '.join(NAMES)}")
    changes = [_read_part(part, device, optimizer) for part in parts]
    return join_changes(changes)


def join_changes(changes: Sequence[Change]) -> Change:
    """Return several changes as one; raise `UnknownChange` if two contradict."""
    whole = changes[0]
    for change in changes[1:]:
        for name in ("autocast", "optimizer"):
            if getattr(whole, name) and getattr(change, name):
                raise UnknownChange(f"`{whole.text}` and `{change.text}` contradict")
        if set(whole.sizes) & set(change.sizes):
            raise UnknownChange(f"`{whole.text}` and `{change.text}` contradict")
        whole = replace(
            whole,
            text=f"{whole.text}, {change.text}",
            edits=(*whole.edits, *change.edits),
            autocast=whole.autocast or change.autocast,
            checkpointed=(*whole.checkpointed, *change.checkpointed),
            sizes={**whole.sizes, **change.sizes},
            optimizer=whole.optimizer or change.optimizer,
            is_foreach=whole.is_foreach and change.is_foreach,
            accumulated=max(whole.accumulated, change.accumulated),
            is_offloaded=whole.is_offloaded or change.is_offloaded,
        )
    return whole


def _split_parts(text: str) -> list[str]:
    """Return what stands between commas, but for those inside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _read_part(text: str, device: str, optimizer: str) -> Change:
    """Return one change."""
    if text in ("bf16", "fp16"):
        dtype = {"bf16": "bfloat16", "fp16": "float16"}[text]
        edit = (
            f'with torch.autocast("{device}", dtype=torch.{dtype}): output, loss = ...'
        )
        return Change(text, (edit,), autocast=text)
    if text == "no-foreach":
        edit = f"torch.optim.{optimizer}(model.parameters(), foreach=False)"
        return Change(text, (edit,), is_foreach=False)
    if text == "offload-optimizer":
        edit = (
            "torchao.optim.CPUOffloadOptimizer(model.parameters(), "
            f"torch.optim.{optimizer})"
        )
        return Change(text, (edit,), is_offloaded=True)
    kind, colon, name = text.partition(":")
    if colon and kind.strip() == "checkpoint" and name.strip():
        name = name.strip()
        words = [word for word in name.split(".") if word.isidentifier()] or ["module"]
        call = f"checkpoint({words[-1].lower()}, x, use_reentrant=False)"
        edit = f"x = torch.utils.checkpoint.{call}"
        return Change(f"checkpoint:{name}", (edit,), checkpointed=(name,))
    letter, equals, number = (part.strip() for part in text.partition("="))
    if equals and letter.isidentifier() and "(" not in text:
        return _read_number(letter, number)
    return _read_optimizer(text)


def _read_number(letter: str, number: str) -> Change:
    """Return ``batch=64``, ``accumulate=4``, or a letter of the inputs with a size."""
    if not number.isdecimal() or int(number) < 1:
        raise UnknownChange(f"`{letter}={number}` needs a number from 1 on")
    count, text = int(number), f"{letter}={number}"
    if letter == "accumulate":
        edit = f"if step % {count} == 0: optimizer.step(); optimizer.zero_grad()"
        return Change(text, (edit,), accumulated=count)
    if letter in ("batch", "batch_size"):
        edit = f"DataLoader(dataset, batch_size={count})"
        return Change(f"batch={number}", (edit,), sizes={"": count})
    return Change(text, (f"inputs with {letter} = {count}",), sizes={letter: count})


def _read_optimizer(text: str) -> Change:
    """Return a change of the optimizer; whether torch has it is not asked here."""
    name, bracket, options = text.partition("(")
    name = name.strip().rpartition(".")[2]
    words = {known.split(":")[0].split("=")[0]: known for known in NAMES}
    close = [words[word] for word in get_close_matches(name, words, 1, 0.7)]
    if close or not name.isidentifier():
        hint = (
            f"did you mean `{close[0]}`?" if close else f"there is {', '.join(NAMES)}"
        )
        raise UnknownChange(f"no change `{text}`; {hint}")
    more = f", {options.rstrip(')')}" if bracket else ""
    return Change(
        text, (f"torch.optim.{name}(model.parameters(){more})",), optimizer=text
    )


def name_optimizer(change: Change, name: str) -> Change:
    """Return the change with the class of its optimizer as torch spells it."""
    short = change.optimizer.partition("(")[0].strip().rpartition(".")[2]
    edits = tuple(
        edit.replace(f"torch.optim.{short}(", f"torch.optim.{name}(")
        for edit in change.edits
    )
    return replace(change, edits=edits)


# -- what is worth a try ---------------------------------------------------------------


def list_candidates(
    memory: Memory, letter: str, classes: Iterable[str], dtype: str
) -> Iterator[str]:
    """Yield changes that may lower a step's memory, for a rehearsal of each.

    `letter` is that of the batch, or empty. `classes` are those of modules that may be
    checkpointed; `dtype` is that of autocast, empty if there is nothing to cast.
    """
    is_gpu = memory.reserved is not None
    if dtype and not memory.autocast:
        yield dtype
    size = memory.sizes.get(letter, 1)
    if size > 1:
        yield f"batch={size // 2}"
    if not memory.training:
        return
    for name in classes:
        yield f"checkpoint:{name}"
    parts = next((count for count in (4, 2, 3) if size % count == 0 < size // count), 1)
    if parts > 1:
        yield f"accumulate={parts}"
    if not memory.optimizer:
        return
    if memory.peak.kinds[OPTIMIZER]:
        yield "sgd"
        if memory.optimizer != "Adafactor":
            yield "adafactor"
        if is_gpu:
            yield "offload-optimizer"
    if is_gpu and memory.peak.phase == STEP:
        yield "no-foreach"


def choose_checkpointed(
    activations: Mapping[str, int], classes: Mapping[str, str], most: int = 2
) -> list[str]:
    """Return the classes of modules whose activations are worth computing again.

    `activations` are the bytes at the peak by the path of a module, `classes` the class
    of each module that has modules of its own, but for the root. A class counts with
    all bytes below its modules; one with several modules comes first, since the
    checkpoint of a single one has to compute all of it at once.
    """
    held: dict[str, int] = {}
    counts: dict[str, int] = {}
    for path, name in classes.items():
        counts[name] = counts.get(name, 0) + 1
        if any(_is_below(path, outer) and name == classes[outer] for outer in classes):
            continue
        below = (size for at, size in activations.items() if _is_below(at, path, True))
        held[name] = held.get(name, 0) + sum(below)
    ordered = sorted(held, key=lambda name: (counts[name] < 2, -held[name], name))
    return [name for name in ordered if held[name]][:most]


def _is_below(path: str, outer: str, or_same: bool = False) -> bool:
    return path.startswith(f"{outer}.") or (or_same and path == outer)
