import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Strokes(Dataset):
    """Pen strokes (dx, dy, pressure) of very different length; classify the turning direction."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(6, 45, (1,), generator=g))
            kind = int(torch.randint(0, 4, (1,), generator=g))
            rate = [-0.25, -0.08, 0.08, 0.25][kind]
            angle = 6.28 * torch.rand(1, generator=g) + rate * torch.arange(length)
            step = torch.stack([angle.cos(), angle.sin(), torch.rand(length, generator=g)], dim=1)
            self.items.append((step + 0.15 * torch.randn(length, 3, generator=g), kind))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    strokes, kinds = zip(*batch)
    lengths = torch.tensor([len(s) for s in strokes])
    return pad_sequence(strokes, batch_first=True), lengths, torch.tensor(kinds)


class StrokeRNN(nn.Module):
    def __init__(self, hidden=48, classes=4):
        super().__init__()
        self.gru = nn.GRU(3, hidden, batch_first=True)
        self.classify = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, strokes, lengths):
        packed = pack_padded_sequence(strokes, lengths, batch_first=True, enforce_sorted=False)
        packed_out, _ = self.gru(packed)
        out, _ = pad_packed_sequence(packed_out, batch_first=True)
        last = out[torch.arange(len(lengths)), lengths - 1]
        return self.classify(last)


def evaluate(model, loader):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for strokes, lengths, kinds in loader:
            right += (model(strokes, lengths).argmax(dim=1) == kinds).sum().item()
            count += len(kinds)
    return right / count


torch.manual_seed(0)
train_loader = DataLoader(Strokes(800, 0), batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(Strokes(300, 1), batch_size=32, collate_fn=collate)

model = StrokeRNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    model.train()
    running = 0.0
    for strokes, lengths, kinds in train_loader:
        loss = criterion(model(strokes, lengths), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch + 1:2d}  loss {running / len(train_loader):.3f}  test acc {evaluate(model, test_loader):.3f}")
