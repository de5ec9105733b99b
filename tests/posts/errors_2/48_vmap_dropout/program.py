import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)

model = nn.Sequential(
    nn.Linear(20, 64),
    nn.ReLU(),
    nn.Dropout(0.1),
    nn.Linear(64, 4),
)
x = torch.randn(512, 20)
y = (x @ torch.randn(20, 4)).argmax(1)

CLIP, NOISE, LR = 1.0, 0.5, 0.5


def sample_loss(params, xi, yi):
    logits = functional_call(model, params, (xi.unsqueeze(0),))
    return F.cross_entropy(logits, yi.unsqueeze(0))


per_sample_grad = vmap(grad(sample_loss), in_dims=(None, 0, 0))

for step in range(40):
    model.train()
    idx = torch.randint(0, len(x), (64,))
    params = {k: v.detach() for k, v in model.named_parameters()}
    grads = per_sample_grad(params, x[idx], y[idx])

    flat = torch.cat([g.flatten(1) for g in grads.values()], dim=1)
    factor = (CLIP / (flat.norm(dim=1) + 1e-6)).clamp(max=1.0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            g = torch.einsum("n,n...->...", factor, grads[name])
            g = (g + NOISE * CLIP * torch.randn_like(g)) / len(idx)
            p -= LR * g

    if step % 10 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"step {step} acc {acc:.3f}")
