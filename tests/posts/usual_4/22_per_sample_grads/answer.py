"""DP-SGD: clip the gradient of every sample, add noise, step."""
import math
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap
from torch.utils.data import DataLoader, TensorDataset

MAX_NORM, SIGMA, LR, BATCH = 1.0, 0.6, 0.25, 64


def build_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.GroupNorm(2, 8), nn.Tanh(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.Tanh(),
        nn.Flatten(), nn.Linear(16 * 4 * 4, 5),
    )


def loss_of_one(model, params, x, y):
    logits = functional_call(model, params, (x.unsqueeze(0),))
    return F.cross_entropy(logits, y.unsqueeze(0))


def clip_and_noise(per_sample, n):
    flat = torch.cat([g.flatten(1) for g in per_sample.values()], dim=1)
    factor = (MAX_NORM / (flat.norm(dim=1) + 1e-6)).clamp(max=1.0)
    out = {}
    for name, g in per_sample.items():
        summed = torch.einsum("b,b...->...", factor, g)
        out[name] = (summed + SIGMA * MAX_NORM * torch.randn_like(summed)) / n
    return out


class DPTrainer:
    def __init__(self, model):
        self.model = model
        self.params = {k: p.detach().clone() for k, p in model.named_parameters()}
        self.sample_grads = vmap(grad(partial(loss_of_one, model)), in_dims=(None, 0, 0))

    def step(self, x, y):
        grads = self.sample_grads(self.params, x, y)
        grads = clip_and_noise(grads, len(x))
        self.params = {k: p - LR * grads[k] for k, p in self.params.items()}

    def predict(self, x):
        with torch.no_grad():
            return functional_call(self.model, self.params, (x,))


def make_patterns(n, generator):
    y = torch.randint(0, 5, (n,), generator=generator)
    angle = y.float() * math.pi / 5
    g = torch.linspace(-1, 1, 16)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    phase = torch.rand(n, generator=generator) * 2 * math.pi
    wave = torch.sin(8 * (xx * angle.cos()[:, None, None] + yy * angle.sin()[:, None, None]) + phase[:, None, None])
    x = wave + 0.3 * torch.randn(n, 16, 16, generator=generator)
    return x.unsqueeze(1), y


def main():
    gen = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    train = TensorDataset(*make_patterns(1500, gen))
    x_test, y_test = make_patterns(400, gen)
    loader = DataLoader(train, batch_size=BATCH, shuffle=True)
    trainer = DPTrainer(build_net())
    print("parameters:", sum(p.numel() for p in trainer.params.values()))
    for epoch in range(6):
        for x, y in loader:
            trainer.step(x, y)
        logits = trainer.predict(x_test)
        print(f"epoch {epoch}: test loss {F.cross_entropy(logits, y_test):.3f}, "
              f"acc {(logits.argmax(1) == y_test).float().mean():.3f}")


if __name__ == "__main__":
    main()
