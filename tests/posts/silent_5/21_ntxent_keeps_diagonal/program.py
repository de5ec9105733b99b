import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from sklearn.linear_model import LogisticRegression


def augment(x):
    keep = (torch.rand_like(x) > 0.3).float()
    return x * keep + 0.3 * torch.randn_like(x)


def nt_xent(z1, z2, temperature=0.2):
    n = len(z1)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.T / temperature
    positives = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, positives)


class SimCLR(nn.Module):
    def __init__(self, in_dim, dim=64):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(in_dim, 128), nn.ReLU(), nn.Linear(128, dim))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(dim, 32))

    def forward(self, x):
        return self.projector(self.backbone(x))


torch.manual_seed(0)
centers = torch.randn(10, 40)
labels = torch.randint(0, 10, (2000,))
data = centers[labels] + 1.0 * torch.randn(2000, 40)
loader = DataLoader(data[:1500], batch_size=128, shuffle=True, drop_last=True)

model = SimCLR(40)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    model.train()
    for x in loader:
        loss = nt_xent(model(augment(x)), model(augment(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: last loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    feats = model.backbone(data).numpy()
probe = LogisticRegression(max_iter=500).fit(feats[:1500], labels[:1500])
print("linear probe accuracy", probe.score(feats[1500:], labels[1500:]))
