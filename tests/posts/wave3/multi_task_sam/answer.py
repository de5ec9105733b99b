import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)

    @torch.no_grad()
    def first_step(self):
        norm = torch.stack([p.grad.norm() for g in self.param_groups for p in g['params']]).norm()
        for g in self.param_groups:
            for p in g['params']:
                e_w = p.grad * g['rho'] / (norm + 1e-12)
                p.add_(e_w)
                self.state[p]['e_w'] = e_w
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for g in self.param_groups:
            for p in g['params']:
                p.sub_(self.state[p]['e_w'])
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError


class ChestNet(nn.Module):
    def __init__(self, num_tasks):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.heads = nn.ModuleList([nn.Linear(32, 1) for _ in range(num_tasks)])

    def forward(self, x):
        z = self.body(x)
        return [head(z) for head in self.heads]


num_tasks = 5
data = TensorDataset(torch.randn(56, 1, 64, 64), torch.randint(0, 2, (56, num_tasks)).float())
loader = DataLoader(data, batch_size=24, shuffle=True)
model = ChestNet(num_tasks)
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
loss_sum = [0.0] * num_tasks

for image, target in loader:
    output = model(image)
    loss = 0
    for t in range(num_tasks):
        loss_t = F.binary_cross_entropy_with_logits(output[t].view(-1), target[:, t])
        loss += loss_t
        loss_sum[t] += loss_t.item()
    optimizer.zero_grad()
    loss.backward()
    optimizer.first_step()

    output = model(image)
    loss = 0
    for t in range(num_tasks):
        loss_t = F.binary_cross_entropy_with_logits(output[t].view(-1), target[:, t])
        loss += loss_t
    loss.backward()
    optimizer.second_step()

print('mean loss per task:', [round(s / len(loader), 4) for s in loss_sum])
