import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

NOTES = 48


class Melodies(Dataset):
    """Random walks over the notes; the target is the next note at every step."""

    def __init__(self, n=160, length=33, seed=0):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(10, 38, (n, 1), generator=g)
        steps = torch.randint(0, 2, (n, length - 1), generator=g) * 2 - 1
        walk = torch.cat([start, start + steps.cumsum(1)], dim=1)
        self.notes = walk.clamp(0, NOTES - 1)

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, i):
        seq = self.notes[i]
        return seq[:-1], seq[1:]


class MelodyGRU(nn.Module):
    def __init__(self, n_notes, emb=32, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(n_notes, emb)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.decoder = nn.Linear(hidden, n_notes)

    def forward(self, x):
        out, _ = self.gru(self.embedding(x))
        return self.decoder(out)


def validate(model, loader, criterion):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += criterion(model(x).flatten(0, 1), y.flatten()).item()
    return total / len(loader)


torch.manual_seed(0)
train_loader = DataLoader(Melodies(160, seed=0), batch_size=16, shuffle=True)
val_loader = DataLoader(Melodies(64, seed=1), batch_size=64)

model = MelodyGRU(NOTES)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)

for epoch in range(12):
    model.train()
    train_loss = 0.0
    optimizer.zero_grad()
    for x, y in train_loader:
        logits = model(x)
        loss = criterion(logits.flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    scheduler.step()
    val_loss = validate(model, val_loader, criterion)
    print(f"epoch {epoch}: train {train_loss / len(train_loader):.4f} val {val_loss:.4f}")
