"""Graphs, points, signals, physics, linear algebra."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import case


class GraphConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Linear(5, 8, bias=False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        h = self.weight(x)
        degree = torch.zeros(len(x)).scatter_add_(0, target, torch.ones(edges.size(1)))
        norm = degree.clamp(min=1).rsqrt()
        message = h[source] * (norm[source] * norm[target]).unsqueeze(-1)
        return torch.zeros_like(h).index_add_(0, target, message).relu()


def graph() -> tuple[Tensor, Tensor]:
    return torch.randn(6, 5), torch.tensor(
        [[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 3]]
    )


@case
def graph_convolution():
    return GraphConvolution(), *graph()


class GraphAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(5, 8)
        self.score = nn.Parameter(torch.randn(2, 8))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.project(x).view(-1, 2, 4)
        pair = torch.cat((h[edges[0]], h[edges[1]]), -1)
        alpha = F.leaky_relu((pair * self.score).sum(-1), 0.2).exp()
        index = edges[1].unsqueeze(-1).expand_as(alpha)
        total = alpha.new_zeros(len(x), 2).scatter_reduce(0, index, alpha, "sum")
        alpha = alpha / total.gather(0, index)
        return h.new_zeros(len(x), 2, 4).index_put(
            (edges[1],), alpha[..., None] * h[edges[0]]
        )


@case
def graph_attention():
    return GraphAttention(), *graph()


class PointNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
        self.all = nn.Linear(16, 4)

    def forward(self, points: Tensor) -> tuple[Tensor, Tensor]:
        centred = points - points.mean(1, keepdim=True)
        value, index = self.each(centred.transpose(2, 1)).max(-1)
        return self.all(value), index


@case
def point_cloud():
    return PointNet().eval(), torch.randn(2, 10, 3)


class Neighbours(nn.Module):
    """Edge convolution over the k nearest points."""

    def __init__(self, k: int = 4) -> None:
        super().__init__()
        self.k = k
        self.edge = nn.Linear(6, 8)

    def forward(self, x: Tensor) -> Tensor:
        B, N, C = x.shape
        index = torch.cdist(x, x).topk(self.k, largest=False).indices
        base = torch.arange(B).view(-1, 1, 1) * N
        near = x.reshape(B * N, C)[(index + base).view(-1)].view(B, N, self.k, C)
        here = x.unsqueeze(2).expand(-1, -1, self.k, -1)
        return self.edge(torch.cat((near - here, here), -1)).max(dim=2).values


@case
def edge_convolution():
    return Neighbours(), torch.randn(2, 9, 3)


class SpectralConvolution(nn.Module):
    """One layer of a Fourier neural operator."""

    def __init__(self, width: int = 4, modes: int = 5) -> None:
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(width, width, modes, dtype=torch.cfloat))

    def forward(self, x: Tensor) -> Tensor:
        frequency = torch.fft.rfft(x)
        out = torch.zeros(x.size(0), x.size(1), frequency.size(-1), dtype=torch.cfloat)
        low = frequency[..., : self.modes]
        out[..., : self.modes] = torch.einsum("bix,iox->box", low, self.weight)
        return torch.fft.irfft(out, n=x.size(-1))


@case
def fourier_operator():
    return SpectralConvolution(), torch.randn(2, 4, 16)


class Spectrogram(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.mel = nn.Linear(17, 10, bias=False)

    def forward(self, wave: Tensor) -> Tensor:
        spectrum = torch.stft(wave, 32, 16, window=self.window, return_complex=True)
        return (self.mel(spectrum.abs().pow(2).mT) + 1e-6).log()


@case
def spectrogram():
    return Spectrogram(), torch.randn(2, 128)


class Odeint(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, x: Tensor, times: Tensor) -> Tensor:
        states = [x]
        for now, then in pairwise(times):
            clock = now.expand(len(x), 1)
            states.append(
                states[-1]
                + (then - now) * self.slope(torch.cat((states[-1], clock), 1))
            )
        return torch.stack(states)


@case
def neural_ode():
    return Odeint(), torch.randn(4, 2), torch.linspace(0, 1, 5)


class Sine(nn.Module):
    """Coordinates in, a signal out, and its derivative by autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 16)
        self.second = nn.Linear(16, 1)

    def forward(self, xy: Tensor) -> tuple[Tensor, Tensor]:
        xy = xy.clone().requires_grad_(True)
        u = self.second(torch.sin(30 * self.first(xy)))
        (slope,) = torch.autograd.grad(u.sum(), xy, create_graph=True)
        return u, slope


@case
def field_with_gradient():
    return Sine(), torch.rand(7, 2)


class GaussianProcess(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def kernel(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.exp(-0.5 * (a[:, None] - b[None]).square().sum(-1) / self.scale**2)

    def forward(self, x: Tensor, y: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
        lower = torch.linalg.cholesky(self.kernel(x, x) + 0.1 * torch.eye(len(x)))
        alpha = torch.cholesky_solve(y.unsqueeze(-1), lower)
        cross = self.kernel(new, x)
        v = torch.linalg.solve_triangular(lower, cross.T, upper=False)
        return (cross @ alpha).squeeze(-1), self.kernel(new, new) - v.T @ v


@case
def gaussian_process():
    return GaussianProcess(), torch.randn(6, 2), torch.randn(6), torch.randn(3, 2)


class Kalman(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("move", torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
        self.register_buffer("look", torch.tensor([[1.0, 0.0]]))

    def forward(self, seen: Tensor) -> Tensor:
        x = seen.new_zeros(len(seen), 2, 1)
        p = torch.eye(2).expand(len(seen), 2, 2)
        for t in range(seen.size(1)):
            x, p = self.move @ x, self.move @ p @ self.move.mT + 0.1 * torch.eye(2)
            s = self.look @ p @ self.look.mT + 0.5
            gain = p @ self.look.mT @ torch.linalg.inv(s)
            x = torch.baddbmm(x, gain, seen[:, t].view(-1, 1, 1) - self.look @ x)
            p = p - gain @ self.look @ p
        return x.squeeze(-1)


@case
def kalman_filter():
    return Kalman(), torch.randn(3, 4)


class ComplexLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3, dtype=torch.complex64)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.linear(torch.complex(x, x.flip(-1)))
        return y.abs(), y.conj() @ y.mT, torch.view_as_real(y)


@case
def complex_numbers():
    return ComplexLayer(), torch.randn(5, 4)


class Atoms(nn.Module):
    """Energies from pairwise distances, in double precision."""

    def __init__(self) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.linspace(0, 4, 8, dtype=torch.float64))
        self.filter = nn.Linear(8, 1, dtype=torch.float64)

    def forward(self, position: Tensor) -> Tensor:
        row, column = torch.triu_indices(len(position), len(position), 1)
        distance = (position[row] - position[column]).norm(dim=-1)
        radial = torch.exp(-((distance[:, None] - self.centres) ** 2))
        cutoff = 0.5 * (torch.cos(math.pi * distance / 5) + 1)
        return (self.filter(radial).squeeze(-1) * cutoff).sum()


@case
def pairwise_energy():
    return Atoms(), torch.randn(5, 3, dtype=torch.float64)
