import numpy as np
import torch
import torch.nn as nn

# ---- text of the tunes -------------------------------------------------
rng = np.random.default_rng(4)
notes = list("CDEFGABcdefgab|: z2")
corpus = "".join(rng.choice(notes, size=6000))
vocab = sorted(set(corpus))
char2idx = {ch: i for i, ch in enumerate(vocab)}
encoded = np.array([char2idx[ch] for ch in corpus])

params = dict(
    num_iterations=40,
    batch_size=8,
    seq_length=50,
    embedding_dim=32,
    hidden_size=64,
    learning_rate=5e-3,
)


def get_batch(data, seq_length, batch_size):
    starts = np.random.choice(len(data) - seq_length - 1, batch_size)
    x = np.stack([data[s:s + seq_length] for s in starts], axis=1)
    y = np.stack([data[s + 1:s + seq_length + 1] for s in starts], axis=1)
    return torch.tensor(x, dtype=torch.long), torch.tensor(y, dtype=torch.long)


class TuneModel(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_size)
        self.fc = nn.Linear(hidden_size, vocab_size)

    def init_hidden(self, batch_size, device):
        return (torch.zeros(1, batch_size, self.hidden_size, device=device),
                torch.zeros(1, batch_size, self.hidden_size, device=device))

    def forward(self, x, state=None, return_state=False):
        x = self.embedding(x)
        if state is None:
            state = self.init_hidden(x.size(1), x.device)
        out, state = self.lstm(x, state)
        logits = self.fc(out)
        return (logits, state) if return_state else logits


def generate(model, seed, length):
    model.eval()
    idx = torch.tensor([[char2idx[seed]]])
    state, text = None, seed
    with torch.no_grad():
        for _ in range(length):
            logits, state = model(idx, state, return_state=True)
            probs = torch.softmax(logits[-1], dim=-1)
            idx = torch.multinomial(probs, 1)
            text += vocab[idx.item()]
    return text


np.random.seed(0)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = TuneModel(len(vocab), params["embedding_dim"], params["hidden_size"]).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=params["learning_rate"])
criterion = nn.CrossEntropyLoss()

# sanity check before training
print("one note:", model(torch.tensor([[0]], device=device)).shape)

model.train()
for it in range(params["num_iterations"]):
    xb, yb = get_batch(encoded, params["seq_length"], params["batch_size"])
    xb, yb = xb.to(device), yb.to(device)
    optimizer.zero_grad()
    logits = model(xb)
    loss = criterion(logits.reshape(-1, len(vocab)), yb.reshape(-1))
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it:3d}  loss {loss.item():.4f}")

print(generate(model.cpu(), "C", 60))
