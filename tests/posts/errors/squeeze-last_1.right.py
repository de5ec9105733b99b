# line 32: the last batch of one loses its batch dim by squeeze(), so that torch.cat of the embeddings raises; mended by: squeezing the spatial dims only
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Products(Dataset):
    def __init__(self, n=33, n_ids=6):
        torch.manual_seed(14)
        self.ids = torch.randint(n_ids, (n,))
        color = torch.rand(n_ids, 3, 1, 1)
        self.img = color[self.ids] + 0.1 * torch.randn(n, 3, 20, 20)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.img[i], self.ids[i]


class Embedder(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2), nn.ELU(),
            nn.Conv2d(16, dim, 3, stride=2), nn.ELU(),
            nn.AdaptiveAvgPool2d(1),
        )

    def forward(self, x):
        f = self.net(x).squeeze(-1).squeeze(-1)
        return F.normalize(f, dim=-1)


def triplets(emb, ids):
    dist = torch.cdist(emb, emb)
    same = ids[:, None] == ids[None, :]
    hardest_pos = dist.masked_fill(~same, 0).amax(1)
    hardest_neg = dist.masked_fill(same, 9.0).amin(1)
    return F.relu(hardest_pos - hardest_neg + 0.2).mean()


@torch.no_grad()
def recall_at_1(model, dataset):
    model.eval()
    embs, ids = [], []
    for x, y in DataLoader(dataset, batch_size=16):
        embs.append(model(x))
        ids.append(y)
    embs, ids = torch.cat(embs), torch.cat(ids)
    sim = embs @ embs.t()
    sim.fill_diagonal_(-1)
    return (ids[sim.argmax(1)] == ids).float().mean().item()


data = Products()
loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    for x, y in loader:
        loss = triplets(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d loss %.3f R@1 %.3f" % (epoch, loss.item(), recall_at_1(model, data)))
