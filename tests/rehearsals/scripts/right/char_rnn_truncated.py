"""Character model in the style of the old tutorials, truncated backpropagation."""
import random
import string

import torch
import torch.nn as nn

TEXT = " ".join("".join(random.Random(i).choices(string.ascii_lowercase[:9], k=4))
                for i in range(300))
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in TEXT])
BATCH, BPTT = 6, 25


def batchify(data, batch):
    length = len(data) // batch
    return data[:length * batch].view(batch, length).t().contiguous()


def get_batch(source, i):
    seq_len = min(BPTT, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden=40):
        super().__init__()
        self.hidden = hidden
        self.encoder = nn.Embedding(vocab, hidden)
        self.rnn = nn.LSTM(hidden, hidden)
        self.decoder = nn.Linear(hidden, vocab)
        self.decoder.weight = self.encoder.weight

    def forward(self, x, state):
        output, state = self.rnn(self.encoder(x), state)
        return self.decoder(output.view(-1, self.hidden)), state

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(1, batch, self.hidden), weight.new_zeros(1, batch, self.hidden)


torch.manual_seed(0)
source = batchify(data, BATCH)
model = CharRNN(len(chars))
criterion = nn.CrossEntropyLoss()
lr = 2.0
for epoch in range(2):
    model.train()
    hidden = model.init_hidden(BATCH)
    total = 0.0
    for step, i in enumerate(range(0, source.size(0) - 1, BPTT)):
        x, y = get_batch(source, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(x, hidden)
        loss = criterion(output, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    print(f"epoch {epoch} loss {total / (step + 1):.3f}")
    lr /= 2

model.eval()
with torch.no_grad():
    x, state, out = torch.tensor([[0]]), model.init_hidden(1), []
    for _ in range(20):
        logits, state = model(x, state)
        x = torch.multinomial(logits.exp(), 1)
        out.append(itos[x.item()])
print("".join(out))
