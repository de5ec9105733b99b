import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(21)


def make_events(n):
    """Clickstreams of varying length: label 1 if clicks on A outnumber clicks on B."""
    items = []
    for _ in range(n):
        length = int(torch.randint(4, 60, (1,)))
        steps = torch.randint(0, 4, (length,))
        a, b = (steps == 0).sum(), (steps == 1).sum()
        if a == b:
            continue
        items.append((F.one_hot(steps, 4).float(), int(a > b)))
    return items


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, torch.tensor(labels)


class EventClassifier(nn.Module):
    def __init__(self, features=4, hidden=32):
        super().__init__()
        self.gru = nn.GRU(features, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, events, lengths):
        out, _ = self.gru(events)
        last = out[torch.arange(len(lengths)), lengths - 1]
        return self.fc(last)


def train_epoch(model, loader, optimizer):
    model.train()
    losses = []
    for events, lengths, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(events, lengths), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def accuracy_by_length(model, loader, edge=20):
    model.eval()
    hits = {"short": [], "long": []}
    for events, lengths, labels in loader:
        ok = model(events, lengths).argmax(1) == labels
        hits["short"] += ok[lengths < edge].tolist()
        hits["long"] += ok[lengths >= edge].tolist()
    return {k: round(sum(v) / len(v), 3) for k, v in hits.items()}


train_loader = DataLoader(make_events(1500), batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(make_events(400), batch_size=100, collate_fn=collate)
model = EventClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(6):
    loss = train_epoch(model, train_loader, optimizer)
    print(f"epoch {epoch + 1}: loss {loss:.4f}, accuracy {accuracy_by_length(model, test_loader)}")

one = torch.stack([F.one_hot(torch.tensor([1, 0, 0, 2, 0]), 4).float()])
padded = F.pad(one, (0, 0, 0, 40))
model.eval()
with torch.no_grad():
    print("as is ", model(one, torch.tensor([5])).softmax(1)[0].tolist())
    print("padded", model(padded, torch.tensor([5])).softmax(1)[0].tolist())
