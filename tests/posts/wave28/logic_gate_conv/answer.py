import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# the sixteen two-input gates, relaxed to [0, 1]
GATES = [
    lambda a, b: a * 0,
    lambda a, b: a * b,
    lambda a, b: a - a * b,
    lambda a, b: a,
    lambda a, b: b - a * b,
    lambda a, b: b,
    lambda a, b: a + b - 2 * a * b,
    lambda a, b: a + b - a * b,
    lambda a, b: 1 - (a + b - a * b),
    lambda a, b: 1 - (a + b - 2 * a * b),
    lambda a, b: 1 - b,
    lambda a, b: 1 - b + a * b,
    lambda a, b: 1 - a,
    lambda a, b: 1 - a + a * b,
    lambda a, b: 1 - a * b,
    lambda a, b: a * 0 + 1,
]


def mix_gates(a, b, probs):
    out = 0
    for i, gate in enumerate(GATES):
        out = out + probs[:, i] * gate(a, b)
    return out


class LogicLayer(nn.Module):
    def __init__(self, n_inputs, n_gates, export_mode=False):
        super().__init__()
        self.n_gates = n_gates
        self.export_mode = export_mode
        self.weights = nn.Parameter(torch.randn(n_gates, 16))
        self.register_buffer("left", torch.randint(0, n_inputs, (n_gates,)))
        self.register_buffer("right", torch.randint(0, n_inputs, (n_gates,)))

    def gate_probs(self):
        if self.export_mode:
            return F.one_hot(self.weights.argmax(dim=1), 16).float()
        return torch.softmax(self.weights, dim=1)


class LogicDense(LogicLayer):
    def forward(self, x):
        return mix_gates(x[:, self.left], x[:, self.right], self.gate_probs())


class LogicConv2d(LogicLayer):
    """Every output channel is one gate that looks at two pixels of the receptive field."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, export_mode=False):
        super().__init__(in_channels * kernel_size ** 2, out_channels, export_mode)
        self.kernel_size = kernel_size
        self.stride = stride

    def forward(self, x):
        h_out = (x.shape[2] - self.kernel_size) // self.stride + 1
        w_out = (x.shape[3] - self.kernel_size) // self.stride + 1
        patches = F.unfold(x, self.kernel_size, stride=self.stride).transpose(1, 2)
        probs = self.gate_probs()
        a = patches[..., self.left]
        b = patches[..., self.right]
        out = mix_gates(a, b, probs)
        return out.transpose(1, 2).reshape(x.shape[0], self.n_gates, h_out, w_out)


class GroupSum(nn.Module):
    def __init__(self, n_groups, tau):
        super().__init__()
        self.n_groups, self.tau = n_groups, tau

    def forward(self, x):
        return x.reshape(x.shape[0], self.n_groups, -1).sum(-1) / self.tau


def make_digits(n, size=12, seed=0):
    rng = np.random.default_rng(seed)
    templates = np.random.default_rng(99).random((4, size, size)) > 0.5
    y = rng.integers(0, 4, n)
    flips = rng.random((n, size, size)) < 0.2
    x = np.logical_xor(templates[y], flips).astype(np.float32)
    return torch.from_numpy(x[:, None]), torch.from_numpy(y)


def set_export(model, flag):
    for m in model.modules():
        if isinstance(m, LogicLayer):
            m.export_mode = flag


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    x_train, y_train = make_digits(1024, seed=0)
    x_test, y_test = make_digits(256, seed=1)

    model = nn.Sequential(
        LogicConv2d(1, 16, kernel_size=3, stride=1),
        LogicConv2d(16, 32, kernel_size=2, stride=2),
        nn.Flatten(),
        LogicDense(32 * 5 * 5, 400),
        GroupSum(4, tau=math.sqrt(100)),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loss_fn = nn.CrossEntropyLoss()

    for epoch in range(6):
        order = torch.randperm(len(x_train))
        total = 0.0
        for idx in order.split(64):
            optimizer.zero_grad()
            loss = loss_fn(model(x_train[idx]), y_train[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}  loss {total / len(x_train):.4f}  test acc {accuracy(model, x_test, y_test):.3f}")

    set_export(model, True)
    print(f"discrete circuit test acc {accuracy(model, x_test, y_test):.3f}")


if __name__ == "__main__":
    main()
