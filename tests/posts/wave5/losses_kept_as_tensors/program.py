import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class Lyapunov(nn.Module):
    def __init__(self, n_x=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_x, 12), nn.LeakyReLU(0.1), nn.Linear(12, 12), nn.LeakyReLU(0.1), nn.Linear(12, 1))
        self.R = nn.Parameter(torch.eye(n_x))

    def forward(self, x):
        value = self.net(x) - self.net(torch.zeros(1, x.shape[1]))
        return value.squeeze(1) + (x @ self.R.T).abs().sum(1)


def dynamics(x):
    A = torch.tensor([[0.9, 0.2], [-0.1, 0.8]])
    return x @ A.T


def violation(lyapunov, x, eps=0.01):
    v, v_next = lyapunov(x), lyapunov(dynamics(x))
    positivity = torch.relu(eps * x.abs().sum(1) - v)
    decrease = torch.relu(v_next - v + eps * v)
    return positivity.mean() + decrease.mean()


def line_search_gd(params, closure, lr=0.5, shrink=0.5, trials=10):
    loss = closure()
    grads = torch.autograd.grad(loss, params, allow_unused=True)
    for _ in range(trials):
        with torch.no_grad():
            for p, g in zip(params, grads):
                if g is not None:
                    p.sub_(lr * g)
            if closure() < loss:
                return loss
            for p, g in zip(params, grads):
                if g is not None:
                    p.add_(lr * g)
        lr *= shrink
    return loss


lyapunov = Lyapunov()
params = list(lyapunov.parameters())
states = torch.randn(400, 2)

losses = []
for iteration in range(40):
    batch = states[torch.randperm(400)[:100]]
    loss = line_search_gd(params, lambda: violation(lyapunov, batch))
    losses.append(loss)
    if iteration % 10 == 0:
        print("iter", iteration, "loss", loss.item())

best = min(range(len(losses)), key=lambda i: losses[i])
print(f"best iteration {best} loss {losses[best]:.5f}")
