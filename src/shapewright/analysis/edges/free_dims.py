"""Which dims of the inputs may have other sizes: batch, sequence, sides of images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from shapewright.analysis.hazards.context import Scene
from shapewright.analysis.provenance.axes import Axis
from shapewright.analysis.provenance.axis_flow import Call
from shapewright.analysis.provenance.layer_axes import CONVOLUTIONS
from shapewright.record.ops import Fact, leaves

Role = Literal["batch", "sequence", "depth", "height", "width", "length"]
Place = tuple[int, int]
"""Which tensor of the inputs, which dim of it."""

LETTERS = {
    "batch": "B", "sequence": "T", "depth": "D", "height": "H", "width": "W",
    "length": "L",
}  # fmt: skip
SIDES: dict[int, tuple[Role, ...]] = {
    1: ("length",),
    2: ("height", "width"),
    3: ("depth", "height", "width"),
}
POOLS = {
    f"{way}_pool{n}d": n
    for way in ("max", "avg", "adaptive_avg", "adaptive_max")
    for n in SIDES
}
WINDOWED = CONVOLUTIONS | POOLS
ROWS = frozenset({"linear", "layer_norm", "lstm_cell", "gru_cell"})
NAMED: dict[str, Role] = {
    "B": "batch", "N": "batch", "T": "sequence", "S": "sequence", "L": "sequence",
    "H": "height", "W": "width",
}  # fmt: skip
"""What a letter of a spec stands for where the run does not tell."""


@dataclass(frozen=True, slots=True)
class Free:
    """Dims of the inputs that have one size, which may be another.

    `stated` says that `letter` is the user's own; `guessed`, that it is not sure that
    these are all the dims that go together.
    """

    role: Role
    letter: str
    size: int
    places: tuple[Place, ...]
    stated: bool = False
    guessed: bool = False

    def at(self, size: int) -> str:
        """`B=1` or, where nobody wrote a letter, `batch 1`."""
        if self.stated:
            return f"{self.letter}={size}"
        word = "sequence length" if self.role == "sequence" else self.role
        return f"{word} {size}"


Letters = Sequence[tuple[str | None, ...]]
"""For each tensor of the inputs the letter or formula of each dim."""


def free_dims(scene: Scene, letters: Letters = ()) -> list[Free]:
    """The dims that may have other sizes, the batch first."""
    facts = inputs_of(scene)
    if len(facts) != len(scene.flow.inputs):
        return []
    roles = dict(roles_of(scene, facts))
    for at, names in enumerate(letters):
        for dim, name in enumerate(names):
            role = NAMED.get(name or "")
            first = role != "batch" or dim == 0
            if role is not None and first and (at, dim) not in roles:
                roles[at, dim] = role
    found: list[Free] = []
    for place, role in roles.items():
        if any(place in each.places for each in found):
            continue
        found.append(grouped(place, role, roles, facts, letters))
    order = list(LETTERS)
    found.sort(key=lambda each: order.index(each.role))
    firsts = {each.role: each for each in reversed(found)}
    return [each for each in firsts.values() if each in found][::-1]


def inputs_of(scene: Scene) -> list[Fact]:
    """The tensors that the program was given, each once."""
    calls = scene.program.trace.calls
    if not calls:
        return []
    args, kwargs = calls[0].inputs
    found: dict[int, Fact] = {}
    for fact in leaves([*args, *kwargs.values()]):
        found.setdefault(fact.tensor, fact)
    return list(found.values())


def grouped(
    place: Place,
    role: Role,
    roles: dict[Place, Role],
    facts: Sequence[Fact],
    letters: Letters,
) -> Free:
    """A dim with all that change with it: by its letter, else by its size."""
    at, dim = place
    size = facts[at].shape[dim]
    name = letters[at][dim] if at < len(letters) else None
    if name is not None and name.isidentifier():
        own = [
            (n, d)
            for n, names in enumerate(letters)
            for d, each in enumerate(names)
            if each == name
        ]
        return Free(role, name, size, tuple(own), True)
    places: list[Place] = []
    guessed = False
    for n, fact in enumerate(facts):
        own = [(n, d) for d in range(fact.ndim) if roles.get((n, d)) == role]
        more = [
            (n, d)
            for d, each in enumerate(fact.shape)
            if each == size and (n, d) not in roles
        ]
        own = [(n, d) for n, d in own if fact.shape[d] == size]
        if own and own[0] == place:
            more = []  # where it was told from
        more = more if own else among(more, role, size, roles, facts)
        places += own + more
        guessed |= bool(more)
    found = tuple(dict.fromkeys(places))
    alone = {n for n, fact in enumerate(facts) if fact.shape} - {n for n, _ in found}
    guessed |= role == "batch" and bool(alone)  # which may go with it by a formula
    return Free(role, LETTERS[role], size, found, guessed=guessed)


def among(
    more: list[Place],
    role: Role,
    size: int,
    roles: dict[Place, Role],
    facts: Sequence[Fact],
) -> list[Place]:
    """Of dims of another input those that go with a role: of a square the one side."""
    peers = [
        each
        for each in SIDES[3]
        if any(facts[n].shape[d] == size for (n, d), r in roles.items() if r == each)
    ]
    if role in peers and len(peers) == len(more):
        return [more[peers.index(role)]]
    return more


def roles_of(scene: Scene, facts: Sequence[Fact]) -> Iterator[tuple[Place, Role]]:
    """What the run tells of each dim of the inputs."""
    where: dict[int, list[Place]] = {}
    for at, dims in enumerate(scene.flow.inputs):
        for dim, axes in enumerate(dims):
            if len(axes) == 1:
                where.setdefault(id(axes[0]), []).append((at, dim))
    batch = scene.batch
    told: dict[int, Role] = {}
    if batch is not None and id(batch) in where and follows_batch(scene):
        told[id(batch)] = "batch"
    for axis, role in (*sequences(scene, facts), *sides(scene)):
        if axis is not batch:
            told.setdefault(id(axis), role)
    for key, role in told.items():
        for place in where.get(key, ()):
            yield place, role


def follows_batch(scene: Scene) -> bool:
    """Whether a layer says which axis the batch is, or what comes out has it."""
    outputs = leaves(scene.program.trace.output)
    carried = any(scene.has_batch(dim) for out in outputs for dim in scene.flow.of(out))
    return carried or (scene.sure and all(not out.shape for out in outputs))


def sequences(scene: Scene, facts: Sequence[Fact]) -> Iterator[tuple[Axis, Role]]:
    """Dims that count steps: of token ids, of what recurrent layers and attention
    take, and the middle one of three in front of a linear layer."""
    inputs = scene.flow.inputs
    for fact, dims in zip(facts, inputs, strict=True):
        if fact.dtype in ("int64", "int32") and len(dims) == 2:
            for dim in dims:
                if scene.batch is not None and dim[0] is not scene.batch:
                    yield dim[0], "sequence"
    for claim in scene.claims:
        if claim.role == "time":
            yield claim.axis, "sequence"
    threes = {id(dims[1][0]): dims[1][0] for dims in inputs if len(dims) == 3}
    for call in scene.calls:
        if call.name in ROWS and call.dims and len(call.dims[0]) > 2:
            for dim in call.dims[0][:-1]:
                if len(dim) == 1 and id(dim[0]) in threes:
                    yield dim[0], "sequence"


def sides(scene: Scene) -> Iterator[tuple[Axis, Role]]:
    """Dims along which windows move."""
    for call in scene.calls:
        count = WINDOWED.get(call.name)
        if count is not None and call.dims and len(call.dims[0]) > count:
            yield from sides_of(call, count)


def sides_of(call: Call, count: int) -> Iterator[tuple[Axis, Role]]:
    for dim, role in zip(call.dims[0][-count:], SIDES[count], strict=True):
        if len(dim) == 1 and dim[0].root.data:
            yield dim[0].root, role
