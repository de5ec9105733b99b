import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.optimizer import Optimizer


def neuron_norm(x):
    if x.dim() > 1:
        return x.flatten(1).norm(dim=1).view(-1, *([1] * (x.dim() - 1)))
    return x.abs()


def neuron_mean(x):
    if x.dim() > 1:
        return x.flatten(1).mean(dim=1).view(-1, *([1] * (x.dim() - 1)))
    raise ValueError("no mean for a vector")


class NeuronSGD(Optimizer):
    """relative steps per neuron; weights stay centred and on the unit sphere"""

    def __init__(self, params, lr=0.01, beta=0.999, constraints=True):
        super().__init__(params, dict(lr=lr))
        self.beta = beta
        self.constraints = constraints
        for group in self.param_groups:
            for p in group['params']:
                if self.constraints and p.dim() > 1:
                    p.data -= neuron_mean(p.data)
                    p.data /= neuron_norm(p.data)
                state = self.state[p]
                state['step'] = 0
                state['avg_sq'] = torch.zeros_like(neuron_norm(p.data))
                state['scale'] = neuron_norm(p.data).mean()
                if state['scale'] == 0.0:
                    state['scale'] = torch.full_like(state['scale'], 0.01)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                state = self.state[p]
                state['step'] += 1
                correction = 1 - self.beta ** state['step']
                state['avg_sq'] = self.beta * state['avg_sq'] + (1 - self.beta) * neuron_norm(p.grad) ** 2
                grad = p.grad / (state['avg_sq'] / correction).sqrt()
                grad[torch.isnan(grad)] = 0.0
                p -= group['lr'] * state['scale'] * grad
                if self.constraints and p.dim() > 1:
                    p -= neuron_mean(p)
                    p /= neuron_norm(p)


class ConvNet(nn.Module):
    def __init__(self, n_classes=6):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4 * 4, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def make_blobs(n=600, n_classes=6, size=16):
    g = torch.Generator().manual_seed(1)
    prototypes = torch.rand(n_classes, 1, size, size, generator=g)
    y = torch.randint(0, n_classes, (n,), generator=g)
    x = prototypes[y] + 0.3 * torch.randn(n, 1, size, size, generator=g)
    return x, y


def main():
    torch.manual_seed(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    x, y = make_blobs()

    net = ConvNet().to(device)
    optimizer = NeuronSGD(net.parameters(), lr=0.01)

    for epoch in range(4):
        order = torch.randperm(len(x))
        running = 0.0
        for idx in order.split(50):
            xb, yb = x[idx].to(device), y[idx].to(device)
            loss = F.cross_entropy(net(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(idx)
        print('epoch', epoch, 'loss', round(running / len(x), 4))


if __name__ == '__main__':
    main()
