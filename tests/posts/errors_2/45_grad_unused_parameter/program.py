import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiTaskNet(nn.Module):
    def __init__(self, n_in=12, width=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.age = nn.Linear(width, 1)
        self.sex = nn.Linear(width, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h), self.sex(h)


def task_grad_norms(losses, params):
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, params, retain_graph=True)
        norms.append(torch.sqrt(sum((g ** 2).sum() for g in grads)))
    return norms


x = torch.randn(500, 12)
age = (x[:, :4].sum(1, keepdim=True) * 10 + 40) / 100
sex = (x[:, 5] > 0).long()

model = MultiTaskNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
weights = torch.ones(2)

for step in range(60):
    idx = torch.randint(0, 500, (64,))
    pred_age, pred_sex = model(x[idx])
    losses = [F.mse_loss(pred_age, age[idx]), F.cross_entropy(pred_sex, sex[idx])]

    if step % 20 == 0:
        norms = task_grad_norms(losses, list(model.parameters()))
        inv = torch.stack([1.0 / n for n in norms])
        weights = (2 * inv / inv.sum()).detach()
        print(f"step {step} weights {weights.tolist()}")

    loss = weights[0] * losses[0] + weights[1] * losses[1]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("final", [round(l.item(), 4) for l in losses])
