"""Writes into memory that an operand reads, or that lies several times in one place."""

import pytest
import torch

import shapewright as sw


def remembered(x):
    """The first call fits, the second has the same metadata and shares memory."""
    torch.zeros(12)[1:].add_(x[:-1])
    return x[1:].add_(x[:-1])


def with_values(x):
    x[1:] = x[:-1]
    return x


def rows(x):
    x.view(3, 4)[1:] = x.view(3, 4)[:-1]
    return x


def columns(x):
    x.view(3, 4)[:, 1:] = x.view(3, 4)[:, :-1]
    return x


def gathered(x):
    x[torch.arange(11)] = x[1:]
    return x


def expanded_item(x):
    x[:1].expand(3)[:] = x[:3] * 2
    return x


def itself(x):
    x[2:4] = x[2:4]
    return x


def broadcast(x):
    x[:5] = x[0]
    return x


def same_out(x):
    return torch.index_select(x, 0, torch.arange(12), out=x)


PROGRAMS = {
    "add_ shifted": lambda x: x[1:].add_(x[:-1]),
    "+= shifted": lambda x: x[1:].__iadd__(x[:-1]),
    "copy_ shifted": lambda x: x[1:].copy_(x[:-1]),
    "copy_ with gaps": lambda x: x[1::2].copy_(x[::2]),
    "copy_ apart": lambda x: x[6:].copy_(x[:6]),
    "add_ of itself": lambda x: x.add_(x),
    "add_ of a view of all": lambda x: x.add_(x.view(12)),
    "add_ of its transpose": lambda x: x[:9].view(3, 3).add_(x[:9].view(3, 3).t()),
    "add_ expanded": lambda x: x[:1].expand(3).add_(1),
    "zero_ expanded": lambda x: x[:1].expand(3).zero_(),
    "fill_ expanded": lambda x: x[:1].expand(3).fill_(2.0),
    "windows": lambda x: x.as_strided((4, 3), (2, 1)).add_(1),
    "out expanded": lambda x: torch.add(x[:3], 1, out=x[:1].expand(3)),
    "out shifted": lambda x: torch.sin(x[:-1], out=x[1:]),
    "out the input": lambda x: torch.sin(x, out=x),
    "out shifted, read in order": lambda x: torch.logsumexp(
        x[:9].view(3, 3), 0, out=x[1:4]
    ),
    "cat into an input": lambda x: torch.cat([x[:6], x[6:]], out=x),
    "index_select into its input": same_out,
    "kthvalue": lambda x: torch.kthvalue(
        x.view(3, 4), 2, 0, out=(x[:4], torch.empty(4, dtype=torch.int64))
    )[1],
    "out grows into its input": lambda x: torch.take(
        x, torch.tensor([0, 1, 2]), out=x[:1]
    ),
    "masked_select": lambda x: torch.masked_select(x, x > -1, out=x),
    "item shifted": with_values,
    "item rows": rows,
    "item columns": columns,
    "item gathered": gathered,
    "item expanded": expanded_item,
    "item itself": itself,
    "item broadcast": broadcast,
    "remembered": remembered,
}  # fmt: skip


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_refused_where_the_cpu_refuses(name, values):
    program = PROGRAMS[name]
    words = None
    try:
        real = program(torch.ones(12))
    except RuntimeError as error:
        words = f"RuntimeError: {error}"
    trace = sw.options(values=values).trace(program, torch.ones(12))
    if words is not None:
        assert [finding.torch_message for finding in trace.findings] == [words]
        return
    assert trace.complete, trace.findings
    assert not trace.assumptions
    assert trace.output.shape == tuple(real.shape)
    assert trace.output.stride == real.stride()


def test_refused_at_any_size():
    trace = sw.trace(lambda x: x[1:].add_(x[:-1]), "f32[100000000]")
    assert "single memory location" in trace.findings[0].torch_message


def test_refused_below_autograd():
    def step(x, w):
        (x.sum() * w).sum().backward()
        return x[1:].mul_(x[:-1])

    weight = torch.ones(3, requires_grad=True)
    trace = sw.options(values=False).trace(step, torch.ones(12), weight)
    assert "single memory location" in trace.findings[0].torch_message


def test_where_no_trial_tells_it_is_supposed():
    def program(x):
        return torch.addmm(x[:4].view(2, 2), x[4:8].view(2, 2), x[8:].view(2, 2),
                           out=x[1:5].view(2, 2))  # fmt: skip

    trace = sw.options(values=False).trace(program, torch.ones(12))
    assert "also reads" in trace.assumptions[0].message or trace.findings


def test_an_out_that_grows_into_an_index_is_not_taken_silently():
    def program(source, index):
        return torch.gather(source, 0, index[1:], out=index[:1])

    trace = sw.options(values=False).trace(
        program, torch.arange(3), torch.tensor([0, 1, 2])
    )
    assert "also reads" in trace.assumptions[0].message or trace.findings
