"""Character-level LSTM on folk tunes in ABC notation, truncated BPTT (after min-char-rnn)."""
import random
import torch
import torch.nn as nn

random.seed(11)
torch.manual_seed(11)

BARS = ["G2 AB", "d2 ed", "BAGA", "B2 A2", "GABd", "e2 dB", "A3 B", "G4"]
text = ""
for k in range(120):
    text += f"X:{k % 10}\nK:G\n" + "|".join(random.choice(BARS) for _ in range(8)) + "|]\n"

chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

BATCH, SEQ = 8, 50
n = (len(data) - 1) // BATCH * BATCH
xs = data[:n].view(BATCH, -1)
ys = data[1:n + 1].view(BATCH, -1)


class TuneLSTM(nn.Module):
    def __init__(self, vocab, emb=24, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, num_layers=2, dropout=0.1, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, hidden=None):
        y, hidden = self.lstm(self.emb(x), hidden)
        return self.out(y), hidden


@torch.no_grad()
def compose(model, start="X:", length=80):
    model.eval()
    ids, hidden = torch.tensor([[stoi[c] for c in start]]), None
    tune = start
    for _ in range(length):
        logits, hidden = model(ids, hidden)
        p = torch.softmax(logits[0, -1] / 0.8, dim=-1)
        nxt = torch.multinomial(p, 1).item()
        tune += chars[nxt]
        ids = torch.tensor([[nxt]])
    return tune


net = TuneLSTM(len(chars))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(5):
    net.train()
    hidden = None
    losses = []
    for i in range(0, xs.size(1) - SEQ + 1, SEQ):
        if hidden is not None:
            hidden = tuple(h.detach() for h in hidden)
        logits, hidden = net(xs[:, i:i + SEQ], hidden)
        loss = loss_fn(logits.reshape(-1, len(chars)), ys[:, i:i + SEQ].reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch}  loss {sum(losses) / len(losses):.3f}")

print(compose(net))
