import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
N_GENES = 500
N_TYPES = 6

expression = torch.rand(481, N_GENES).log1p()
cell_type = torch.randint(0, N_TYPES, (481,))

n_train = 385
train_ds = TensorDataset(expression[:n_train], cell_type[:n_train])
valid_ds = TensorDataset(expression[n_train:], cell_type[n_train:])

train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
valid_dl = DataLoader(valid_ds, batch_size=64)


class CellTyper(nn.Module):
    def __init__(self, n_genes, n_types, hidden=(128, 64), p=0.3):
        super().__init__()
        blocks = []
        width = n_genes
        for h in hidden:
            blocks += [nn.Linear(width, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(p)]
            width = h
        self.body = nn.Sequential(*blocks)
        self.out = nn.Linear(width, n_types)

    def forward(self, x):
        return self.out(self.body(x))


model = CellTyper(N_GENES, N_TYPES)
loss_fn = nn.CrossEntropyLoss()
optimizer = optim.AdamW(model.parameters(), lr=3e-4, weight_decay=1e-2)


def evaluate(model, loader):
    model.eval()
    hits, total = 0, 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += y.numel()
    return hits / total


for epoch in range(3):
    model.train()
    seen, total_loss = 0, 0.0
    for x, y in train_dl:
        optimizer.zero_grad()
        logits = model(x)
        loss = loss_fn(logits, y)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(x)
        seen += len(x)
    print(f"epoch {epoch}: {seen} cells, loss {total_loss / seen:.4f}, valid acc {evaluate(model, valid_dl):.3f}")
