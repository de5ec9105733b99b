# line 29: only the encoder is switched to evaluation: the ranking head with its dropout stays in training mode
import numpy as np
import torch
from torch import nn


class Recommender:
    def __init__(self, users=60, items=40, dim=16):
        self.encoder = nn.ModuleDict({"user": nn.Embedding(users, dim), "item": nn.Embedding(items, dim)})
        self.head = nn.Sequential(nn.Linear(2 * dim, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 1))
        params = [*self.encoder.parameters(), *self.head.parameters()]
        self.opt = torch.optim.Adam(params, lr=5e-3)

    def score(self, user, item):
        pair = torch.cat([self.encoder["user"](user), self.encoder["item"](item)], dim=1)
        return self.head(pair).squeeze(1)

    def train_epoch(self, loader):
        self.encoder.train()
        self.head.train()
        for user, item, liked in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(self.score(user, item), liked)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self, loader):
        self.encoder.eval()
        self.head.eval()
        right, seen = 0, 0
        for user, item, liked in loader:
            right += ((self.score(user, item) > 0) == liked.bool()).sum().item()
            seen += len(liked)
        return right / seen


rng = np.random.default_rng(22)
torch.manual_seed(22)
a, b = rng.normal(size=60), rng.normal(size=40)
user, item = rng.integers(0, 60, 1500), rng.integers(0, 40, 1500)
liked = torch.tensor(a[user] * 0.5 + b[item] > 0, dtype=torch.float32)
data = torch.utils.data.TensorDataset(torch.from_numpy(user), torch.from_numpy(item), liked)
train, valid = torch.utils.data.random_split(data, [1200, 300])
train_loader = torch.utils.data.DataLoader(train, batch_size=60, shuffle=True)
valid_loader = torch.utils.data.DataLoader(valid, batch_size=60)
model = Recommender()
for epoch in range(5):
    model.train_epoch(train_loader)
    print(f"epoch {epoch}: validation accuracy {model.validate(valid_loader):.3f}")
