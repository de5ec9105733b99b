# line 30: finish_step() moves the SequentialLR on before it lets the optimizer step
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


class PointNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.cloud = nn.Linear(64, classes)

    def forward(self, points):
        return self.cloud(self.point(points).amax(dim=1))


def clouds(n, points=40):
    kind = torch.randint(3, (n,))
    raw = torch.randn(n, points, 3)
    ball = raw / raw.norm(dim=2, keepdim=True)
    box = torch.rand(n, points, 3) * 2 - 1
    flat = box * torch.tensor([1.0, 1.0, 0.05])
    shapes = torch.stack([ball, box, flat])
    return shapes[kind, torch.arange(n)], kind


def finish_step(loss, optimizer, schedule):
    optimizer.zero_grad()
    loss.backward()
    schedule.step()
    optimizer.step()


torch.manual_seed(32)
cloud, kind = clouds(300)
net = PointNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
updates = 6 * 10
warmup = LinearLR(optimizer, start_factor=0.1, total_iters=10)
cosine = CosineAnnealingLR(optimizer, T_max=updates - 10)
schedule = SequentialLR(optimizer, [warmup, cosine], milestones=[10])
for epoch in range(6):
    total = 0.0
    for rows in torch.randperm(300).split(30):
        loss = nn.functional.cross_entropy(net(cloud[rows]), kind[rows])
        finish_step(loss, optimizer, schedule)
        total += loss.item() * len(rows)
    print(f"epoch {epoch}: loss {total / 300:.4f} rate {optimizer.param_groups[0]['lr']:.5f}")
