"""A size that remembers is an `int` wherever the program puts it."""

from __future__ import annotations

import math
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import torch

from shapewright.engine.tracked_sizes.comparisons import Watching
from shapewright.record.guards import iter_reads
from shapewright.runtime.run import record_run
from shapewright.runtime.run_record import RunRequest
from tests.guards.watching import program, told, watched

USES = [
    "x = x.view(x.shape[0], -1)",
    "x = x.reshape([x.shape[0] * x.shape[1], x.shape[2], -1])",
    "x = x.reshape((x.shape[0], -1, x.size(3)))",
    "x = torch.zeros(x.shape[0], x.shape[1])",
    "x = torch.zeros((x.shape[0], 3))",
    "x = torch.zeros(x.shape)",
    "x = torch.zeros(x.size())",
    "x = x.new_zeros(x.shape[1:])",
    "x = torch.arange(x.shape[1])",
    "x = torch.arange(0, x.shape[1], 2).tolist()",
    "x = torch.empty(x.shape[0], x.numel() // 4, device='cpu')",
    "x = x.expand(x.shape[0], x.shape[1], x.shape[2], x.shape[3])",
    "x = F.interpolate(x, size=(x.shape[2] * 2, x.shape[3]))",
    "x = F.interpolate(x, scale_factor=x.shape[2] / 4)",
    "x = F.pad(x, (0, x.shape[2], 1, 8 - x.shape[1] % 8))",
    "x = x[:, : x.shape[1] // 2]",
    "x = x[x.shape[0] - 1]",
    "x = x[..., x.shape[3] - 1, None]",
    "x[:, : x.shape[1] // 2] = x.shape[0]",
    "x = [x[:, i] for i in range(x.shape[1])]",
    "x = torch.stack([x[0, 0]] * x.shape[0])",
    "x = x * x.shape[1] + x.shape[2] - 1 / x.shape[3]",
    "x = x.shape[1] * x\nx = x / x.shape[1] ** 0.5",
    "x = torch.full((2,), x.shape[1])",
    "x = torch.tensor([x.shape[1], x.shape[2]])",
    "x = torch.tensor(x.shape)",
    "x = x.split([x.shape[1] // 2, x.shape[1] - x.shape[1] // 2], dim=1)",
    "x = x.unflatten(1, (x.shape[1] // 2, 2)).flatten(1, 2)",
    "x = F.avg_pool2d(x, x.shape[2:])",
    "x = F.adaptive_avg_pool2d(x, (x.shape[2] // 2, 1))",
    "x = F.layer_norm(x, x.shape[-2:])",
    "x = F.dropout(x, 1 / x.shape[1])",
    "x = torch.einsum('abcd->ab', x).repeat(x.shape[0], 1)",
    "x = x.unfold(1, x.shape[2] // 2, 2)",
    "x = torch.nn.Linear(x.shape[3], x.shape[2])(x)",
    "x = torch.randn(x.shape[0], generator=torch.Generator().manual_seed(x.shape[1]))",
    "x = torch.broadcast_to(x, torch.broadcast_shapes(x.shape, (1, 1, 1)))",
    "from torch.utils.checkpoint import checkpoint as again\n"
    "x = again(lambda a, n: a * n, x, x.shape[0], use_reentrant=False)",
    "x = numpy.zeros((x.shape[0], 3)) + x.shape[1]",
    "x = numpy.arange(x.shape[0]), numpy.array([x.shape[0], 1]).dtype",
    "x = numpy.float64(2) * x.shape[0], x.shape[0] * numpy.int64(3)",
    "x = numpy.prod(x.shape), numpy.int64(3) < x.shape[1], numpy.ones(3) * x.size(1)",
    "x = torch.from_numpy(numpy.zeros(x.shape[1]))",
    "x = f'{x.shape[0]:>4} {x.shape} {x.shape[0]!r} {x.shape[0] / 4:.2f}'",
    "x = '%d %s' % (x.shape[0], x.size(1)), str(x.shape[0]), repr(x.shape[1] / 3)",
    "x = json.dumps({'sizes': list(x.shape), 'half': x.shape[1] / 4})",
    "x = [0] * x.shape[0], x.shape[0] * 'ab', (1,) * x.size(1)",
    "x = {x.shape[0]: 1, 7: 2}, {x.shape[0], 2}, hash(x.shape[0]) == hash(2)",
    "x = isinstance(x.shape[0], int), type(x.shape) is torch.Size",
    "x = copy.deepcopy([x.shape[0], x.shape]), copy.copy(x.shape[0])",
    "import pickle\nx = pickle.loads(pickle.dumps([x.shape, x.size(0) / 4]))",
    "x = int(x.shape[0]), float(x.shape[0]), complex(x.shape[0]), bool(x.shape[0])",
    "x = [a for a in zip(range(x.shape[0]), x.shape)], 'abcdefghijklm'[x.shape[2]]",
    "x = pow(x.shape[0], 5, 7), x.shape[0].bit_length(), x.shape[0].real, ~x.shape[0]",
    "x = math.sqrt(x.shape[2]), math.log2(x.shape[2]), math.gcd(x.shape[2], 12)",
    "x = x.shape[0] + True, True * x.shape[0], x.shape[0] + 1j",
    "from fractions import Fraction\nx = Fraction(x.shape[0], 3) * x.shape[1]",
    "x = x.shape.numel(), x.shape[1:].numel()",
    "x = type(3) == int, int == type(4), type(3) in (str, int)",
    "x = isinstance(3, (int, float)), isinstance(True, int), isinstance('a', int)",
    "x = issubclass(bool, int), issubclass(int, int), issubclass(float, (int, str))",
    "x = torch.zeros(2, dtype=int), x.to(float), torch.zeros(3).to(dtype=int)",
    "x = numpy.zeros(2, dtype=int).dtype, numpy.ones(2).astype(int).dtype",
    "x = int('7'), int('ff', 16), int.from_bytes(b'a', 'big'), int(), float('-inf')",
    "from collections import defaultdict\nd = defaultdict(int)\nd[1] += 2\nx = dict(d)",
    "x = list(map(int, x.shape)), max(map(float, x.shape)), str(int), f'{float}'",
    "match x.shape[0]:\n    case int(n): x = n\n    case _: x = None",
    "match 3.5:\n    case int(): x = 1\n    case float(n): x = n",
    "x = str(int | None), isinstance(3, int | None), list[int] == list[int]",
    "class Own(int):\n    pass\nx = Own(3) + 1, isinstance(Own(3), int)",
    "x = {int: 1, float: 2}[type(3)], {type(3): 1}.get(int), type(3) in (int, float)",
    "import typing\nx = str(typing.Optional[int]), typing.cast(int, 3)",
    "x = [math.sqrt(9), math.gcd(12, 8), math.log(8, 2), math.isqrt(17)]",
    "try:\n    x = int('a')\nexcept ValueError as error:\n    x = str(error)",
    "try:\n    x = int(None)\nexcept TypeError as error:\n    x = str(error)",
    "try: math.sqrt(-x.size(0))\nexcept ValueError as error: x = str(error)",
    "x = torch.Size([x.shape[0], 3]), torch.Size(x.shape) + (4,)",
    "x = x.to(torch.float16), torch.iinfo(torch.int8).max > x.shape[0]",
    "n = x.shape[0]\nn += 1\nn *= 2\nx = n",
    "x = sum([x.shape[0]] * 3) + max(x.shape), min(x.shape[2:], default=1)",
    "try:\n    x = x.shape[0] / (x.shape[1] - 30)\n"
    "except ZeroDivisionError as error:\n    x = str(error)",
    "try:\n    x = x.shape[0] + 'a'\nexcept TypeError as error:\n    x = str(error)",
    "try:\n    x = [][x.shape[0]]\nexcept IndexError as error:\n    x = str(error)",
    "try:\n    x = {}[x.shape[0]]\nexcept KeyError as error:\n    x = str(error)",
]  # fmt: skip


@pytest.mark.parametrize("body", USES)
def test_the_program_does_the_same(body: str, tmp_path: Path) -> None:
    told(tmp_path, body, torch.zeros(2, 30, 8, 12), torch.zeros(30, 5))


def test_names_that_stood_for_others_are_put_back(tmp_path: Path) -> None:
    functions = dict(vars(math))
    run = program(tmp_path, "global int\ny = int(log(x.shape[0]))\nfloat = 1")
    space = run.__globals__
    before = dict(space)
    _, guards = watched(run, torch.zeros(8, 4))
    assert guards.reason is None
    assert space == before
    assert math.__dict__ == functions


def test_a_program_that_asks_for_exactly_an_int_is_watched_all_the_same(
    tmp_path: Path,
) -> None:
    body = "if type(3) is not int: x = x + 1\nassert x.shape[0] < 9"
    _, guards = watched(program(tmp_path, body), torch.zeros(8, 4))
    assert guards.reason is None
    assert len(guards.guards) == 1


def test_where_a_size_is_lost_is_told(tmp_path: Path) -> None:
    body = "h = complex(x.shape[0]).real\nif h > 3: x = x + 1"
    _, guards = watched(program(tmp_path, body), torch.zeros(8, 4))
    assert not guards.guards
    ((what, line),) = [(lost.what, lost.span.line) for lost in guards.lost if lost.span]
    assert (what, line) == ("float()", 9)


def test_a_program_that_does_otherwise_tells_no_guards(tmp_path: Path) -> None:
    body = "if type(x.shape[0]) is not int: x = x + 1\nassert x.shape[0] < 9"
    _, guards = watched(program(tmp_path, body), torch.zeros(8, 4))
    assert guards.reason == "watched, the program ran otherwise: ops"
    assert not guards.guards
    body = "assert type(x.shape[0]) is int"
    _, guards = watched(program(tmp_path, body), torch.zeros(8, 4))
    assert guards.reason is not None


def test_numbers_of_an_earlier_run_are_plain_numbers(tmp_path: Path) -> None:
    body = "if y.empty(): y.put(x.shape[0])\nn = y.get(); y.put(n)\nn + x.shape[1] > 9"
    kept: SimpleQueue[Any] = SimpleQueue()
    run = program(tmp_path, body)
    request = RunRequest(guards=Watching())
    record_run(run, (torch.zeros(3, 4), kept), {}, request)
    second = record_run(run, (torch.zeros(3, 5), kept), {}, request).guards
    assert second is not None
    (guard,) = second.guards
    assert [read.dim for read in iter_reads(guard.left)] == [1]
    assert str(guard).endswith("shape[1] + 3 > 9: false")


def test_what_the_program_kept_is_a_plain_number_afterwards(tmp_path: Path) -> None:
    kept: SimpleQueue[Any] = SimpleQueue()
    run = program(tmp_path, "y.put(x.shape[0])\ny.put(len(x) / 4)")
    before = len
    _, guards = watched(run, torch.zeros(3, 4), kept)
    assert guards.reason is None
    assert (kept.get(), kept.get()) == (3, 0.75)
    size, share = kept.get(), kept.get()
    assert size == 3
    assert share == 0.75
    assert type(size + 1) is int
    assert type(share * 2) is float
    assert size in {3}
    assert size > 2
    assert len is before
