import torch
import torch.nn as nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.c1 = nn.Conv2d(ch, ch, 3)
        self.c2 = nn.Conv2d(ch, ch, 3)
        self.norm = nn.InstanceNorm2d(ch)

    def forward(self, x):
        h = F.pad(x, (1, 1), mode="reflect")
        h = F.relu(self.norm(self.c1(h)))
        h = self.c2(F.pad(h, (1, 1, 1, 1), mode="reflect"))
        return x + h


class StyleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 7, padding=3)
        self.blocks = nn.Sequential(*[ResBlock(16) for _ in range(2)])
        self.to_rgb = nn.Conv2d(16, 3, 7, padding=3)

    def forward(self, x):
        return torch.tanh(self.to_rgb(self.blocks(F.relu(self.stem(x)))))


torch.manual_seed(0)
net = StyleNet()
photo = torch.rand(2, 3, 48, 48)
painting = torch.rand(2, 3, 48, 48)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(3):
    loss = F.l1_loss(net(photo), painting)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
