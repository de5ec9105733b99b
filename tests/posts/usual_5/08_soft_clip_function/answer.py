"""Exercise 4: write your own activation with its derivative."""
import math

import torch
from torch import nn
from torch.autograd import Function


class SoftClipFn(Function):
    """y = x inside [-limit, limit], slope `leak` outside."""

    @staticmethod
    def forward(ctx, x, limit, leak):
        ctx.save_for_backward(x)
        ctx.limit = limit
        ctx.leak = leak
        inside = x.clamp(-limit, limit)
        return inside + leak * (x - inside)

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        slope = torch.where(x.abs() <= ctx.limit, 1.0, ctx.leak)
        return grad_output * slope, None, None


class SoftClip(nn.Module):
    def __init__(self, limit=1.0, leak=0.1):
        super().__init__()
        self.limit = limit
        self.leak = leak

    def forward(self, x):
        return SoftClipFn.apply(x, self.limit, self.leak)

    def extra_repr(self):
        return f"limit={self.limit}, leak={self.leak}"


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), SoftClip()]
    layers.append(nn.Linear(sizes[-2], sizes[-1]))
    return nn.Sequential(*layers)


def spirals(n=200, seed=0):
    g = torch.Generator().manual_seed(seed)
    t = torch.rand(n, generator=g).sqrt() * 3 * math.pi
    side = torch.randint(0, 2, (n,), generator=g)
    phase = t + math.pi * side
    xy = torch.stack([t * phase.cos(), t * phase.sin()], dim=1) / 8
    return xy + 0.02 * torch.randn(n, 2, generator=g), side


def fit(net, x, y, steps=300):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for step in range(steps):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    x_train, y_train = spirals(300, seed=0)
    x_test, y_test = spirals(100, seed=1)

    net = mlp(2, 32, 32, 2)
    print(net)
    with torch.no_grad():
        before = (net(x_test).argmax(1) == y_test).float().mean()
    print(f"untrained accuracy: {before:.2f}")

    fit(net, x_train, y_train)
    with torch.no_grad():
        after = (net(x_test).argmax(1) == y_test).float().mean()
    print(f"trained accuracy: {after:.2f}")
