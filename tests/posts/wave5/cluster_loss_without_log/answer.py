import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader


class ClusterLayer(nn.Module):
    def __init__(self, n_clusters, dim, alpha=1.0):
        super(ClusterLayer, self).__init__()
        self.alpha = alpha
        self.weight = nn.Parameter(torch.randn(n_clusters, dim))

    def forward(self, z):
        d = ((z.unsqueeze(1) - self.weight) ** 2).sum(2) / self.alpha
        q = (1.0 + d) ** (-(self.alpha + 1.0) / 2.0)
        return q / q.sum(1, keepdim=True)


class DCEC(nn.Module):
    def __init__(self, n_clusters=4, dim=6):
        super(DCEC, self).__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, dim))
        self.decoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 20))
        self.clustering = ClusterLayer(n_clusters, dim)

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), self.clustering(z)


def target_distribution(q):
    weight = q ** 2 / q.sum(0)
    return (weight.t() / weight.sum(1)).t()


torch.manual_seed(0)
centers = torch.randn(4, 20) * 2
X = centers[torch.randint(0, 4, (200,))] + 0.3 * torch.randn(200, 20)
loader = DataLoader(TensorDataset(X), batch_size=50, shuffle=True)

model = DCEC()
criterion_rec = nn.MSELoss()
criterion_clust = nn.KLDivLoss(reduction="sum")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
gamma = 0.1

for epoch in range(4):
    for (batch,) in loader:
        optimizer.zero_grad()
        decoded, clusters = model(batch)
        tar_dist = target_distribution(clusters.detach())
        loss_rec = criterion_rec(decoded, batch)
        loss_clust = gamma * criterion_clust(torch.log(clusters), tar_dist) / batch.shape[0]
        loss = loss_rec + loss_clust
        loss.backward()
        optimizer.step()
    print("epoch %d rec %.4f clust %.4f" % (epoch, loss_rec.item(), loss_clust.item()))
