# line 13: batch-hard triplet: the root of squared differences is 0 on the diagonal and then masked by where/min
import torch
import torch.nn as nn


class BatchHardTriplet(nn.Module):
    def __init__(self, margin=0.3):
        super().__init__()
        self.margin = margin

    def pairwise(self, e):
        delta = e.unsqueeze(0) - e.unsqueeze(1)
        return torch.pow(delta.pow(2).sum(-1), 0.5)

    def forward(self, e, who):
        d = self.pairwise(e)
        same = who[:, None] == who[None]
        far = (d * same.float()).max(dim=1).values
        near = d.masked_fill(same, 1e6).min(dim=1).values
        return torch.relu(far - near + self.margin).mean()


class FaceNet(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU())
        self.emb = nn.Linear(16 * 9, d)

    def forward(self, img):
        return self.emb(self.conv(img).flatten(1))


def persons(n_people=6, shots=4):
    who = torch.arange(n_people).repeat_interleave(shots)
    base = torch.randn(n_people, 1, 16, 16, generator=torch.Generator().manual_seed(3))
    return base[who] + 0.4 * torch.randn(len(who), 1, 16, 16), who


torch.manual_seed(0)
net, criterion = FaceNet(), BatchHardTriplet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(20):
    img, who = persons()
    loss = criterion(net(img), who)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 5 == 0:
        print(it, loss.item())
