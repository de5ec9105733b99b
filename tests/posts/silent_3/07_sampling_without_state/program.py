import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(2)
WORDS = ["winter", "summer", "spring", "autumn", "morning", "evening", "garden", "river", "mountain", "island"]
picks = torch.randint(0, len(WORDS), (1200,)).tolist()
text = " ".join(WORDS[i] for i in picks)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
SEQ = 40


class CharWindows(Dataset):
    def __init__(self, data, seq):
        self.data, self.seq = data, seq

    def __len__(self):
        return (len(self.data) - 1) // self.seq

    def __getitem__(self, i):
        s = i * self.seq
        return self.data[s:s + self.seq], self.data[s + 1:s + self.seq + 1]


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, 24)
        self.rnn = nn.GRU(24, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


@torch.no_grad()
def sample(model, start, length):
    model.eval()
    ids = [stoi[c] for c in start]
    _, hidden = model(torch.tensor([ids[:-1]]))
    for _ in range(length):
        logits, _ = model(torch.tensor([[ids[-1]]]))
        probs = torch.softmax(logits[0, -1] / 0.6, dim=-1)
        ids.append(torch.multinomial(probs, 1).item())
    return "".join(chars[i] for i in ids)


def share_of_real_words(s):
    words = s.split()[1:-1]
    return sum(w in WORDS for w in words) / max(len(words), 1)


loader = DataLoader(CharWindows(data, SEQ), batch_size=16, shuffle=True)
model = CharRNN(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

for epoch in range(20):
    model.train()
    total = 0.0
    for x, y in loader:
        logits, _ = model(x)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        generated = sample(model, "garden ", 200)
        print(f"epoch {epoch + 1}: loss {total / len(loader):.3f}  real words {share_of_real_words(generated):.2f}")
        print("   ", generated[:70])
