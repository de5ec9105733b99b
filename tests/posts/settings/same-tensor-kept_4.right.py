# line 21: the reservoir state is updated in place and appended itself, so the design matrix repeats the last state
import torch
import torch.nn as nn


class Reservoir:
    def __init__(self, size=60, leak=0.3, radius=0.9, seed=0):
        g = torch.Generator().manual_seed(seed)
        w = torch.randn(size, size, generator=g)
        self.w = radius * w / torch.linalg.eigvals(w).abs().max()
        self.w_in = torch.rand(size, 1, generator=g) - 0.5
        self.size, self.leak = size, leak

    def drive(self, signal, washout=50):
        activity = torch.zeros(self.size)
        design = []
        for k, value in enumerate(signal):
            pre = self.w @ activity + self.w_in[:, 0] * value
            activity.mul_(1 - self.leak).add_(torch.tanh(pre), alpha=self.leak)
            if k >= washout:
                design.append(activity.clone())
        return torch.stack(design)


def mackey_like(n):
    x = [1.2] * 18
    for _ in range(n):
        x.append(x[-1] + 0.2 * x[-18] / (1 + x[-18] ** 10) - 0.1 * x[-1])
    return torch.tensor(x[18:])


class RidgeReadout(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, 1)

    def forward(self, states):
        return self.linear(states).squeeze(-1)


def main():
    torch.manual_seed(0)
    series = mackey_like(801) - 0.9
    states = Reservoir().drive(series[:-1])
    target = series[51:]
    n = 600
    readout = RidgeReadout(states.size(1))
    optimizer = torch.optim.Adam(readout.parameters(), lr=5e-3, weight_decay=1e-5)
    for epoch in range(30):
        readout.train()
        for rows in torch.randperm(n).split(50):
            optimizer.zero_grad()
            nn.functional.mse_loss(readout(states[rows]), target[rows]).backward()
            optimizer.step()
    readout.eval()
    with torch.no_grad():
        error = nn.functional.mse_loss(readout(states[n:]), target[n:])
    print("relative error", (error / target[n:].var()).item())


main()
