# line 34: generation of a char LSTM calls the model with the last char only and throws the returned state away
import torch
import torch.nn as nn


class CharRNN(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, 16)
        self.lstm = nn.LSTM(16, 48, batch_first=True)
        self.fc = nn.Linear(48, n)

    def forward(self, ids, hidden=None):
        out, hidden = self.lstm(self.emb(ids), hidden)
        return self.fc(out), hidden


text = "to be or not to be that is the question " * 25
alphabet = sorted(set(text))
idx = {c: i for i, c in enumerate(alphabet)}
data = torch.tensor([idx[c] for c in text])


def sample(model, prompt, n):
    model.eval()
    ids = torch.tensor([[idx[c] for c in prompt]])
    result = prompt
    with torch.no_grad():
        logits, hidden = model(ids)
        for _ in range(n):
            p = logits[0, -1].softmax(0)
            nxt = torch.multinomial(p, 1)
            result += alphabet[nxt.item()]
            logits, _ = model(nxt.view(1, 1), hidden)
    return result


torch.manual_seed(0)
model = CharRNN(len(alphabet))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for it in range(60):
    at = torch.randint(len(data) - 31, (16,)).tolist()
    win = torch.stack([data[a:a + 31] for a in at])
    logits, _ = model(win[:, :-1])
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), win[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
print(sample(model, "to be ", 40))
