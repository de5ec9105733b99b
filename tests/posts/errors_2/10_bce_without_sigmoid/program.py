import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)

N_TAGS = 6
docs = torch.randn(512, 40)
proj = torch.randn(40, N_TAGS)
tags = ((docs @ proj) > 3.0).float()
loader = DataLoader(TensorDataset(docs, tags), batch_size=64, shuffle=True)


class TagPredictor(nn.Module):
    def __init__(self, n_in, n_tags):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_in, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, n_tags),
        )

    def forward(self, x):
        return self.body(x)


def micro_f1(logits, target):
    pred = (torch.sigmoid(logits) > 0.5).float()
    tp = (pred * target).sum()
    return (2 * tp / (pred.sum() + target.sum()).clamp(min=1)).item()


model = TagPredictor(40, N_TAGS)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    for x, t in loader:
        out = model(x)
        loss = criterion(out, t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, f"loss {loss.item():.4f}", f"f1 {micro_f1(model(docs), tags):.3f}")
