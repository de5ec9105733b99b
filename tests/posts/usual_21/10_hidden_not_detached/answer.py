import torch
import torch.nn as nn

text = (
    "it was the best of times it was the worst of times it was the age of wisdom "
    "it was the age of foolishness it was the epoch of belief it was the epoch of incredulity "
) * 12
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

BATCH = 8
CHUNK = 20


class CharLSTM(nn.Module):
    def __init__(self, vocab, embed=24, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, embed)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, hidden=None):
        y, hidden = self.lstm(self.embed(x), hidden)
        return self.out(y), hidden


def batchify(data, batch):
    n = len(data) // batch
    return data[:n * batch].view(batch, n)


torch.manual_seed(0)
stream = batchify(data, BATCH)
model = CharLSTM(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    hidden = None
    total, steps = 0.0, 0
    for start in range(0, stream.size(1) - CHUNK - 1, CHUNK):
        x = stream[:, start:start + CHUNK]
        y = stream[:, start + 1:start + CHUNK + 1]
        if hidden is not None:
            hidden = tuple(h.detach() for h in hidden)
        logits, hidden = model(x, hidden)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        steps += 1
    print(f"epoch {epoch}: loss {total / steps:.3f}")
