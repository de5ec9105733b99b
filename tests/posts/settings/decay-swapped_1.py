# line 18: lerp_ moves the shadow weights by the decay instead of by one minus the decay
import copy

import torch
from torch import nn


class Shadow:
    def __init__(self, model, decay=0.995):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, source):
        for mine, theirs in zip(self.model.parameters(), source.parameters()):
            mine.lerp_(theirs, self.decay)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64))
        self.head = nn.Linear(64, 2)

    def forward(self, cloud):
        return self.head(self.local(cloud).amax(1))


torch.manual_seed(31)
kind = torch.randint(2, (200,))
cloud = torch.randn(200, 30, 3) * (1 + 0.5 * kind.view(-1, 1, 1))
net = PointNet()
shadow = Shadow(net)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    net.train()
    for rows in torch.randperm(160).split(20):
        loss = nn.functional.cross_entropy(net(cloud[rows]), kind[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        shadow.update(net)
    with torch.no_grad():
        acc = (shadow.model(cloud[160:]).argmax(1) == kind[160:]).float().mean()
    print(epoch, acc.item())
