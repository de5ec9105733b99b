import pandas as pd
import torch
from torch import nn

torch.manual_seed(0)

frame = pd.DataFrame(
    {
        "user.country": torch.randint(0, 12, (400,)).numpy(),
        "user.device": torch.randint(0, 4, (400,)).numpy(),
        "item.category": torch.randint(0, 30, (400,)).numpy(),
    }
)
clicked = torch.randint(0, 2, (400, 1)).float()


class ClickModel(nn.Module):
    def __init__(self, cardinalities, dim=8):
        super().__init__()
        self.columns = list(cardinalities)
        self.embeddings = nn.ModuleDict(
            {name: nn.Embedding(size, dim) for name, size in cardinalities.items()}
        )
        self.mlp = nn.Sequential(
            nn.Linear(dim * len(self.columns), 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, batch):
        parts = [self.embeddings[c](batch[c]) for c in self.columns]
        return self.mlp(torch.cat(parts, dim=1))


cardinalities = {c: int(frame[c].max()) + 1 for c in frame.columns}
model = ClickModel(cardinalities)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.BCEWithLogitsLoss()
columns = {c: torch.tensor(frame[c].values) for c in frame.columns}

for epoch in range(5):
    perm = torch.randperm(len(frame))
    for start in range(0, len(frame), 64):
        idx = perm[start : start + 64]
        batch = {c: v[idx] for c, v in columns.items()}
        opt.zero_grad()
        loss = loss_fn(model(batch), clicked[idx])
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
