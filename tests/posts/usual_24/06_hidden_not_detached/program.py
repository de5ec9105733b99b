import torch
import torch.nn as nn

torch.manual_seed(0)

text = "the quick brown fox jumps over the lazy dog and runs back to the quiet forest . " * 60
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

BATCH, BPTT, HIDDEN = 8, 35, 128


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data[: nbatch * bsz].view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(BPTT, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len]


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden, layers=2):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.encoder = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRU(hidden, hidden, layers)
        self.decoder = nn.Linear(hidden, vocab)

    def forward(self, x, h):
        out, h = self.rnn(self.encoder(x), h)
        return self.decoder(out), h

    def init_hidden(self, bsz):
        return torch.zeros(self.layers, bsz, self.hidden)


train_data = batchify(data, BATCH)
model = CharRNN(len(chars), HIDDEN)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(3):
    model.train()
    hidden = model.init_hidden(BATCH)
    total, steps = 0.0, 0
    for i in range(0, train_data.size(0) - 1, BPTT):
        x, y = get_batch(train_data, i)
        optimizer.zero_grad()
        output, hidden = model(x, hidden)
        loss = criterion(output.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total += loss.item()
        steps += 1
    print(f"epoch {epoch}: loss {total / steps:.3f}")
