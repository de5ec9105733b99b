import torch
import torch.nn as nn
import torch.nn.functional as F


def upsample(in_tens, out_HW=(64, 64)):
    return nn.Upsample(size=tuple(out_HW), mode="bilinear", align_corners=False)(in_tens)


class PerceptualDistance(nn.Module):
    def __init__(self, spatial=True):
        super().__init__()
        self.spatial = spatial
        self.slices = nn.ModuleList([
            nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU()),
            nn.Sequential(nn.Conv2d(8, 12, 3, stride=2), nn.ReLU()),
        ])
        self.lins = nn.ModuleList([nn.Conv2d(c, 1, 1, bias=False) for c in (8, 12)])

    def forward(self, in0, in1):
        h0, h1, val = in0, in1, 0
        for block, lin in zip(self.slices, self.lins):
            h0, h1 = block(h0), block(h1)
            diff = (F.normalize(h0, dim=1) - F.normalize(h1, dim=1)) ** 2
            res = lin(diff)
            if self.spatial:
                res = upsample(res, out_HW=in0.shape[2:])
            else:
                res = res.mean([2, 3], keepdim=True)
            val = val + res
        return val


torch.manual_seed(0)
metric = PerceptualDistance()
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

clean = torch.rand(6, 3, 64, 99)
noisy = clean + 0.1 * torch.randn_like(clean)
weight = torch.linspace(0.5, 1.5, 99).view(1, 1, 1, 99)

for epoch in range(2):
    for i in range(0, 6, 2):
        optimizer.zero_grad()
        restored = net(noisy[i:i + 2])
        distance = metric(restored, clean[i:i + 2])
        loss = F.l1_loss(restored, clean[i:i + 2]) + (distance * weight).mean()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
