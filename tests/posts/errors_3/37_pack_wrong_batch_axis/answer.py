import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

torch.manual_seed(0)


class ActivityGRU(nn.Module):
    def __init__(self, n_channels=6, hidden=32, n_classes=4):
        super().__init__()
        self.gru = nn.GRU(n_channels, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        _, h = self.gru(packed)
        return self.fc(h[-1])


def make_sequences(n):
    seqs, labels = [], []
    for t in torch.randint(20, 45, (n,)).sort(descending=True).values.tolist():
        k = int(torch.randint(0, 4, (1,)))
        s = torch.randn(t, 6) * 0.3
        s[:, k] += torch.sin(torch.arange(t) / 2.0) + 0.5
        seqs.append(s)
        labels.append(k)
    return seqs, torch.tensor(labels)


model = ActivityGRU()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(15):
    seqs, labels = make_sequences(24)
    lengths = torch.tensor([len(s) for s in seqs])
    x = pad_sequence(seqs, batch_first=True)
    logits = model(x, lengths)
    loss = nn.functional.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        acc = (logits.argmax(1) == labels).float().mean()
        print(f"step {step} loss {loss.item():.3f} acc {acc:.2f}")
