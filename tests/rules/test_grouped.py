"""Products by group against torch's CPU kernel, refusals included."""

import pytest
import torch

import shapewright as sw

CASES = [
    # self, mat2 (made transposed where it ends in "t"), offsets
    ((8, 16), (3, 16, 4), 3),
    ((8, 16), (3, 5, 16, "t"), 3),
    ((3, 5, 16), (3, 6, 16, "t"), None),
    ((5, 8), (8, 4), 3),
    ((3, 5, 16), (16, 8), 3),
    ((8, 16), (3, 12, 4), 3),
    ((8, 16), (3, 16, 4), None),
    ((8, 16), (3, 16, 4), 2),
    ((8, 16), (3, 16, 3), 3),
]


def made(shape, dtype=torch.float32):
    if shape[-1] == "t":
        return torch.randn(shape[:-1]).to(dtype).transpose(-2, -1)
    return torch.randn(shape).to(dtype)


def offsets(count):
    if count is None:
        return None
    return torch.tensor([2, 5, 8][:count], dtype=torch.int32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_product_by_group_has_the_shape_and_stride_of_the_cpu(case, dtype):
    one, two, offs = made(case[0], dtype), made(case[1], dtype), offsets(case[2])
    free = (one.to("meta"), two.to("meta"), offs)
    trace = sw.trace(lambda a, b, o: torch._grouped_mm(a, b, offs=o), *free)
    refused = ""
    try:
        real = torch._grouped_mm(one, two, offs=offs)
    except RuntimeError as error:
        refused = str(error).splitlines()[0]
    if refused:
        assert not trace.complete
        assert trace.findings[-1].message == refused
        return
    assert trace.complete, trace.findings
    assert (trace.output.shape, trace.output.stride) == (real.shape, real.stride())
    assert trace.output.dtype == str(real.dtype).removeprefix("torch.")


def test_gradients_flow_through_a_product_of_many_rows():
    def program(rows, weight):
        ends = torch.tensor([700, 1000, 2000], dtype=torch.int32)
        made = torch._grouped_mm(rows, weight, offs=ends)
        (made * made).sum().backward()
        return made, rows.grad, weight.grad

    def inputs():
        rows = torch.randn(2000, 64, requires_grad=True)
        return rows, torch.randn(3, 64, 520, requires_grad=True)

    trace = sw.trace(program, *inputs())
    assert trace.complete, trace.findings
    for ours, real in zip(trace.output, program(*inputs()), strict=True):
        assert (ours.shape, ours.stride) == (real.shape, real.stride())
        assert ours.dtype == str(real.dtype).removeprefix("torch.")
        assert ours.grad_fn == (real.grad_fn and real.grad_fn.name())
