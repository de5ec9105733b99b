import torch
from torch import nn

text = "the quick brown fox jumps over the lazy dog and the small cat sleeps on the warm mat. " * 40
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(vocab, 24)
        self.rnn = nn.GRU(24, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, x, hidden=None):
        out, hidden = self.rnn(self.embed(x), hidden)
        return self.head(out), hidden


@torch.no_grad()
def generate(model, prompt, length):
    model.eval()
    x = torch.tensor([[stoi[c] for c in prompt]])
    result = prompt
    for _ in range(length):
        logits, _ = model(x)
        probs = torch.softmax(logits[0, -1], dim=-1)
        nxt = torch.multinomial(probs, 1)
        result += chars[nxt.item()]
        x = nxt.view(1, 1)
    return result


model = CharRNN(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss()
block = 50
for step in range(1, 251):
    model.train()
    starts = torch.randint(0, len(data) - block - 1, (32,))
    x = torch.stack([data[s:s + block] for s in starts])
    y = torch.stack([data[s + 1:s + block + 1] for s in starts])
    logits, _ = model(x)
    loss = criterion(logits.transpose(1, 2), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.4f}")
print(generate(model, "the quick", 120))
