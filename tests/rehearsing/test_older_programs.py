"""What programs of the first years of torch write, as it is today."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

VARIABLES = """\
import numpy as np
import torch
from torch.autograd import Variable

net = torch.nn.Linear(4, 3).cuda()
labels = torch.LongTensor([1, 2]).cuda()
x, y = Variable(torch.randn(2, 4).cuda()), Variable(labels)
assert (x.device.type, y.device.type) == ("cuda", "cuda")
assert isinstance(x, Variable) and x.is_leaf and not x.requires_grad
loss = torch.nn.functional.cross_entropy(net(x), y)
loss.backward()
assert not Variable(loss).requires_grad
z = Variable(x * 2, requires_grad=True)
assert z.requires_grad and z.is_leaf and z.is_cuda
net(z).sum().backward()
assert z.grad.shape == (2, 4)
"""


def test_a_variable_is_where_its_tensor_is(tmp_path: Path) -> None:
    before = "__new__" in vars(torch.autograd.Variable)
    report = rehearsed(tmp_path, VARIABLES, device="cuda")
    assert report.findings == ()
    assert report.complete
    assert ("__new__" in vars(torch.autograd.Variable)) is before
    assert torch.autograd.Variable(torch.ones(2)).tolist() == [1, 1]


TYPES = """\
import numpy as np
import torch

Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
a = Tensor(np.random.normal(0, 1, (5, 7)))
b = Tensor(5, 1).fill_(1.0)
c = Tensor([[1, 2], [3, 4]])
d = torch.cuda.LongTensor(np.random.randint(0, 10, 64))
e = torch.zeros(3).type(Tensor)
f = torch.zeros(3).type("torch.cuda.LongTensor")
assert [(*t.shape,) for t in (a, b, c, d, e, f)] == [
    (5, 7), (5, 1), (2, 2), (64,), (3,), (3,),
]
assert all(t.is_cuda for t in (a, b, c, d, e, f))
assert (a.dtype, d.dtype, f.dtype) == (torch.float32, torch.int64, torch.int64)
assert a.type() == "torch.cuda.FloatTensor" and isinstance(a, torch.cuda.FloatTensor)
assert torch.zeros(2).type() == "torch.FloatTensor"
torch.set_default_tensor_type("torch.cuda.FloatTensor")
assert torch.zeros(2).is_cuda and torch.nn.Linear(2, 2).weight.is_cuda
"""


def test_types_of_tensors_on_a_gpu_make_such_tensors(tmp_path: Path) -> None:
    before = torch.Tensor.type, torch.set_default_tensor_type
    report = rehearsed(tmp_path, TYPES, device="cuda")
    assert report.findings == ()
    assert report.complete
    assert (torch.Tensor.type, torch.set_default_tensor_type) == before
    assert torch.get_default_device().type == "cpu"


CPU_TYPES = """\
import torch

images = torch.randint(0, 256, (20000, 28, 28), dtype=torch.uint8)
assert images.type() == "torch.ByteTensor"
pixels = images.unsqueeze(1).type(torch.FloatTensor)[:2000] / 255.0
labels = images[:, 0, 0].type("torch.LongTensor")
assert pixels.type() == "torch.FloatTensor" and pixels.shape == (2000, 1, 28, 28)
assert labels.dtype == torch.int64 and labels.device.type == "cpu"
assert images.type(torch.Tensor).dtype == torch.float32
weight = torch.randn(4, requires_grad=True)
doubled = (2 * weight).type(torch.DoubleTensor)
doubled.sum().backward()
assert weight.grad.dtype == torch.float32
assert weight.type(torch.FloatTensor) is weight
"""


def test_types_of_tensors_on_the_cpu_are_dtypes(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, CPU_TYPES)
    assert report.findings == ()
    assert report.complete


SPECTRA = """\
import torch
from torch import nn

wave, window = torch.randn(2, 800), torch.hann_window(256)
gain = nn.Parameter(torch.ones(129, 1))
spectrum = {call}
{read}
size.mean().backward()
"""
STFT = "torch.stft(wave, 256, 64, window=window{word})"
BACK = """\
back = torch.istft(spectrum * gain, 256, 64, window=window)
size = back.abs() + (spectrum.abs() * gain).mean()"""
TWO = "size = gain * torch.sqrt(spectrum[..., 0] ** 2 + spectrum[..., 1] ** 2)"
SUMMED = "size = gain * spectrum.pow(2).sum(-1).sqrt()"
PLAIN = "`return_complex=True`"
PARTS = "`torch.view_as_real` of the call with `return_complex=True`"


@pytest.mark.parametrize(
    ("call", "read", "fix"),
    [
        (STFT, BACK, PLAIN),
        (STFT, TWO, PARTS),
        (STFT, SUMMED, PARTS),
        ("wave.stft(256, 64, window=window{word})", BACK, PLAIN),
    ],
)
def test_a_spectrum_says_that_it_is_complex(
    call: str, read: str, fix: str, tmp_path: Path
) -> None:
    text = SPECTRA.format(call=call.format(word=""), read=read)
    (finding,) = rehearsed(tmp_path, text).findings
    assert "of a real signal needs `return_complex=True`" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_a_complex_spectrum_is_quiet(tmp_path: Path) -> None:
    call = STFT.format(word=", return_complex=True")
    assert rehearsed(tmp_path, SPECTRA.format(call=call, read=BACK)).findings == ()
