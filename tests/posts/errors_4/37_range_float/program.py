import torch
import torch.nn as nn


class CharLM(nn.Module):
    def __init__(self, vocab, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, 24)
        self.lstm = nn.LSTM(24, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids, state=None):
        h, state = self.lstm(self.emb(ids), state)
        return self.out(h), state


text = "she sells sea shells by the sea shore and the shells she sells are sea shells " * 12
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

torch.manual_seed(0)
BATCH, SEQ = 4, 20
n_steps = len(data) / (BATCH * SEQ)
stream = data[: len(data) // BATCH * BATCH].view(BATCH, -1)
model = CharLM(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(2):
    state = None
    for i in range(n_steps):
        x = stream[:, i * SEQ:(i + 1) * SEQ]
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = model(x, state)
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
