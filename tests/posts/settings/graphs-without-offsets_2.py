# line 22: the nearest neighbours are numbered within each cloud but index the flattened points of all clouds
import torch
import torch.nn as nn

torch.manual_seed(30)


def neighbour_index(points, k):
    distance = torch.cdist(points, points)
    return distance.argsort(dim=-1)[..., 1 : k + 1]


class EdgeConv(nn.Module):
    def __init__(self, cin, cout, k):
        super().__init__()
        self.k = k
        self.mlp = nn.Sequential(nn.Linear(2 * cin, cout), nn.LeakyReLU(0.2))

    def forward(self, feats):
        b, n, c = feats.shape
        idx = neighbour_index(feats.detach(), self.k).reshape(-1)
        near = feats.reshape(b * n, c).index_select(0, idx).view(b, n, self.k, c)
        centre = feats.unsqueeze(2).expand_as(near)
        return self.mlp(torch.cat([near - centre, centre], dim=-1)).amax(dim=2)


class CloudClassifier(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.first, self.second = EdgeConv(3, 16, 6), EdgeConv(16, 32, 6)
        self.out = nn.Linear(32, classes)

    def forward(self, cloud):
        return self.out(self.second(self.first(cloud)).amax(dim=1))


def shapes(n):
    kind = torch.randint(3, (n,))
    cloud = torch.randn(n, 24, 3)
    cloud[kind == 1] = nn.functional.normalize(cloud[kind == 1], dim=-1)
    cloud[kind == 2, :, 2] = 0
    return cloud, kind


cloud, kind = shapes(120)
model = CloudClassifier()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    good = 0
    for sel in torch.randperm(120).split(20):
        logits = model(cloud[sel])
        opt.zero_grad()
        nn.functional.cross_entropy(logits, kind[sel]).backward()
        opt.step()
        good += (logits.argmax(1) == kind[sel]).sum().item()
    print(epoch, good / 120)
