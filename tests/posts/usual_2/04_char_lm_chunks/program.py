import torch
import torch.nn as nn

text = (
    "the quick brown fox jumps over the lazy dog. "
    "pack my box with five dozen liquor jugs. "
    "how vexingly quick daft zebras jump! "
) * 30
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)

batch_size = 8
seq_len = 25
epochs = 2


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data[: nbatch * bsz]
    return data.view(bsz, -1)


class CharRNN(nn.Module):
    def __init__(self, vocab, emb=32, hidden=96, layers=2):
        super().__init__()
        self.hidden_size = hidden
        self.layers = layers
        self.emb = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, layers, batch_first=True, dropout=0.1)
        self.out = nn.Linear(hidden, vocab)

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (
            weight.new_zeros(self.layers, bsz, self.hidden_size),
            weight.new_zeros(self.layers, bsz, self.hidden_size),
        )

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.emb(x), hidden)
        return self.out(out), hidden


torch.manual_seed(0)
train_data = batchify(data, batch_size)
model = CharRNN(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(epochs):
    model.train()
    hidden = model.init_hidden(batch_size)
    total, steps = 0.0, 0
    for i in range(0, train_data.size(1) - seq_len - 1, seq_len):
        inputs = train_data[:, i : i + seq_len]
        targets = train_data[:, i + 1 : i + 1 + seq_len]

        optimizer.zero_grad()
        output, hidden = model(inputs, hidden)
        loss = criterion(output.reshape(-1, len(chars)), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()

        total += loss.item()
        steps += 1
    print(f"epoch {epoch} | loss {total / steps:.3f}")
