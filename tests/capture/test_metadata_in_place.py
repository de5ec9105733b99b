"""Calls that change a tensor's metadata in place change it for what follows."""

import pytest
import torch

import shapewright as sw

PROGRAMS = {
    "t_": lambda x: x.t_().unsqueeze(0),
    "unsqueeze_": lambda x: x.unsqueeze_(0).squeeze_(1).sum(0),
    "transpose_": lambda x: x.transpose_(0, 1).reshape(-1, 1),
    "as_strided_": lambda x: x.as_strided_((2, 2), (1, 2)).t(),
    "view first": lambda x: x.t().t_().add_(1),
}


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_follows_sees_the_new_metadata(name, values):
    real = PROGRAMS[name](torch.ones(3, 6))
    trace = sw.options(values=values).trace(PROGRAMS[name], torch.ones(3, 6))
    assert trace.complete, trace.findings
    assert trace.output.shape == tuple(real.shape)
    assert trace.output.stride == real.stride()
