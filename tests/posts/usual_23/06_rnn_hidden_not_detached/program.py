import torch
import torch.nn as nn

torch.manual_seed(0)

# character-level language model
text = ("the quick brown fox jumps over the lazy dog and runs into the forest "
        "where the old bear sleeps under a tall green tree ") * 40
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)

batch_size = 8
seq_len = 32
n = (len(data) - 1) // batch_size
inputs = data[: n * batch_size].view(batch_size, n)
targets = data[1 : n * batch_size + 1].view(batch_size, n)


class CharRNN(nn.Module):
    def __init__(self, vocab_size, emb=32, hidden=64, layers=2):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.emb = nn.Embedding(vocab_size, emb)
        self.lstm = nn.LSTM(emb, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, vocab_size)

    def forward(self, x, state):
        y, state = self.lstm(self.emb(x), state)
        return self.out(y), state

    def init_state(self, batch_size):
        h = torch.zeros(self.layers, batch_size, self.hidden)
        c = torch.zeros(self.layers, batch_size, self.hidden)
        return h, c


model = CharRNN(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(2):
    model.train()
    state = model.init_state(batch_size)
    total_loss, steps = 0.0, 0
    for start in range(0, n - seq_len, seq_len):
        x = inputs[:, start : start + seq_len]
        y = targets[:, start : start + seq_len]

        optimizer.zero_grad()
        logits, state = model(x, state)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

        total_loss += loss.item()
        steps += 1
    print(f"epoch {epoch + 1}: loss {total_loss / steps:.4f}")
