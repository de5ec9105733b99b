import torch
import torch.nn as nn
import torch.nn.functional as F

text = "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. " * 40
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

batch_size = 8
seq_len = 32


def batchify(data, batch_size):
    n = len(data) // batch_size
    return data[: n * batch_size].view(batch_size, n)


class CharRNN(nn.Module):
    def __init__(self, vocab_size, emb=32, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, emb)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab_size)

    def forward(self, x, hidden=None):
        out, hidden = self.lstm(self.emb(x), hidden)
        return self.head(out), hidden


model = CharRNN(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
batches = batchify(data, batch_size)

for epoch in range(3):
    hidden = None
    losses = []
    for i in range(0, batches.size(1) - seq_len - 1, seq_len):
        x = batches[:, i : i + seq_len]
        y = batches[:, i + 1 : i + seq_len + 1]
        logits, hidden = model(x, hidden)
        loss = F.cross_entropy(logits.reshape(-1, len(chars)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: {sum(losses) / len(losses):.3f}")
