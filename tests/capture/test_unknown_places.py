"""Where a tensor of unknown values tells a place, what it does not change is exact."""

import pytest
import torch

import shapewright as sw

PROGRAMS = {
    "narrow": lambda x, n: x.narrow(1, n[0] - 1, 2),
    "narrow by name": lambda x, n: torch.narrow(x, dim=1, start=n[0] - 1, length=2),
    "repeat_interleave": lambda x, n: x.repeat_interleave(n, dim=0, output_size=4),
    "repeat_interleave of counts": lambda x, n: torch.repeat_interleave(
        n, output_size=4
    ),
    "repeat_interleave of all": lambda x, n: x.repeat_interleave(n[0], output_size=12),
    "nonzero of nothing": lambda x, n: x[:0].nonzero(),
    "masked_select of nothing": lambda x, n: x[:0].masked_select(x[:0] > 0),
    "multinomial": lambda x, n: torch.multinomial(x.abs() + 1, 2),
}  # fmt: skip


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_to_the_real_run(name, grad):
    program = PROGRAMS[name]
    x = torch.randn(4, 3, requires_grad=grad)
    counts = torch.ones(4, dtype=torch.int64)
    real = program(x, counts)
    out = sw.options(values=False).trace(program, x, counts).output
    assert (out.shape, out.stride) == (tuple(real.shape), real.stride())
    assert (out.requires_grad, out.is_leaf) == (real.requires_grad, real.is_leaf)
    node = None if real.grad_fn is None else real.grad_fn.name()
    assert out.grad_fn == node


def test_what_is_cut_at_an_unknown_place_is_a_view():
    def program(x, n):
        parts = torch.tensor_split(x, n)
        return x.narrow(0, n[0], 1), parts, x

    trace = sw.options(values=False).trace(
        program, torch.ones(4, 3), torch.ones(2, dtype=torch.int64)
    )
    narrow, parts, x = trace.output
    assert {narrow.storage, *(part.storage for part in parts)} == {x.storage}
    assert [part.shape for part in parts] == [(2, 3), (1, 3), (1, 3)]
    assert len(trace.assumptions) == 2


def test_counts_that_do_not_fit_are_refused():
    def program(x, n):
        return x.repeat_interleave(n, dim=1)

    trace = sw.options(values=False).trace(
        program, torch.ones(4, 3), torch.ones(4, dtype=torch.int64)
    )
    assert "same size as input along dim" in trace.findings[0].torch_message


def test_an_unknown_mask_keeps_the_gradient():
    x = torch.ones(4, 3, requires_grad=True)
    trace = sw.options(values=False).trace(lambda x: x.masked_select(x > 0), x)
    assert trace.output.grad_fn == "MaskedSelectBackward0"


def test_inputs_on_meta_and_on_the_cpu_are_said_to_be_together():
    trace = sw.trace(torch.add, torch.ones(3, device="meta"), torch.ones(3))
    assert "meta" in trace.assumptions[0].message
    alone = sw.trace(torch.nn.Linear(3, 2), torch.ones(3, device="meta"))
    assert not alone.assumptions
