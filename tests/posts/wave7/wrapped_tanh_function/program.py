import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function


class TanhWrapper(Function):

    @staticmethod
    def forward(ctx, inputs):
        ctx.save_for_backward(inputs)
        return torch.tanh(inputs)

    @staticmethod
    def backward(ctx, grad_outputs):
        inputs, = ctx.saved_tensors
        inputs = inputs.detach().requires_grad_(True)
        outputs = torch.tanh(inputs)
        return torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph=False)[0]


class CheckpointedTanh(nn.Module):
    def forward(self, x):
        return TanhWrapper.apply(x)


class CouplingLayer(nn.Module):
    """affine coupling of a normalizing flow"""

    def __init__(self, d, intermediate_dim=64, swap=False):
        super(CouplingLayer, self).__init__()
        self.d = d - (d // 2)
        self.swap = swap
        self.net_s_t = nn.Sequential(
            nn.Linear(self.d, intermediate_dim), CheckpointedTanh(),
            nn.Linear(intermediate_dim, intermediate_dim), CheckpointedTanh(),
            nn.Linear(intermediate_dim, (d - self.d) * 2))

    def forward(self, x, logpx):
        if self.swap:
            x = torch.cat([x[:, self.d:], x[:, :self.d]], 1)
        s_t = self.net_s_t(x[:, :self.d])
        scale = torch.sigmoid(s_t[:, :x.size(1) - self.d] + 2.)
        shift = s_t[:, x.size(1) - self.d:]
        y1 = x[:, self.d:] * scale + shift
        logpx = logpx - torch.log(scale).sum(1, keepdim=True)
        y = torch.cat([x[:, :self.d], y1], 1)
        if self.swap:
            y = torch.cat([y[:, self.d:], y[:, :self.d]], 1)
        return y, logpx


class SequentialFlow(nn.Module):
    def __init__(self, n_layers=4):
        super(SequentialFlow, self).__init__()
        self.chain = nn.ModuleList([CouplingLayer(2, swap=i % 2 == 1) for i in range(n_layers)])

    def forward(self, x):
        logpx = x.new_zeros(x.size(0), 1)
        for layer in self.chain:
            x, logpx = layer(x, logpx)
        return x, logpx


def two_moons(n):
    angle = torch.rand(n) * 3.1416
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, torch.cos(angle), 1 - torch.cos(angle))
    y = torch.where(upper, torch.sin(angle), 0.5 - torch.sin(angle))
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


def standard_normal_logprob(z):
    return (-0.5 * z.pow(2) - 0.9189).sum(1, keepdim=True)


if __name__ == '__main__':
    torch.manual_seed(0)
    model = SequentialFlow()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    for itr in range(1, 51):
        optimizer.zero_grad()
        z, delta_logp = model(two_moons(128))
        loss = -(standard_normal_logprob(z) - delta_logp).mean()
        loss.backward()
        optimizer.step()
        if itr % 10 == 0:
            print('Iter {:04d} | Loss {:.6f}'.format(itr, loss.item()))
