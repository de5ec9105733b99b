import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
params = {k: v.detach() for k, v in model.named_parameters()}

x = torch.randn(48, 8)
y = x[:, :2].sum(dim=1, keepdim=True)


def sample_loss(p, xi, yi):
    pred = functional_call(model, p, (xi.unsqueeze(0),))
    return (pred - yi).pow(2).mean()


def clipped_grad(p, xi, yi, max_norm):
    g = grad(sample_loss)(p, xi, yi)
    norm = torch.sqrt(sum(v.pow(2).sum() for v in g.values()))
    scale = min(1.0, max_norm / norm.item())
    return {k: v * scale for k, v in g.items()}


def dp_step(p, xb, yb, lr=0.1, max_norm=1.0, noise=0.05):
    per_sample = vmap(clipped_grad, in_dims=(None, 0, 0, None))(p, xb, yb, max_norm)
    new = {}
    for k, g in per_sample.items():
        mean = g.mean(dim=0)
        mean = mean + noise * max_norm / len(xb) * torch.randn_like(mean)
        new[k] = p[k] - lr * mean
    return new


for step in range(30):
    idx = torch.randperm(48)[:16]
    params = dp_step(params, x[idx], y[idx])
    if step % 10 == 0:
        with torch.no_grad():
            mse = (functional_call(model, params, (x,)) - y).pow(2).mean()
        print(f"step {step} mse {mse:.4f}")
