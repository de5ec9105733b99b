# line 26: the importance of each sentence (B,) multiplies the losses (B, T) without a dim, so with B = T it lines up with the positions
import torch
from torch import nn

CFG = dict(batch=16, steps=16, vocab=40, dim=32, lr=3e-3, updates=40)


class Tagger(nn.Module):
    def __init__(self, vocab, dim, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim // 2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(dim, tags)

    def forward(self, ids):
        return self.tags(self.lstm(self.embed(ids))[0])


class WeightedTagLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.ce = nn.CrossEntropyLoss(reduction="none")

    def forward(self, scores, gold, importance):
        per_token = self.ce(scores.movedim(-1, 1), gold)
        weighted = per_token * importance.unsqueeze(1)
        return weighted.sum() / (importance.sum() * gold.shape[1])


def annotated(n, gen):
    ids = torch.randint(CFG["vocab"], (n, CFG["steps"]), generator=gen)
    gold = ids % 5
    agreement = torch.rand(n, generator=gen) * 0.8 + 0.2
    return ids, gold, agreement


torch.manual_seed(11)
gen = torch.Generator().manual_seed(12)
tagger = Tagger(CFG["vocab"], CFG["dim"])
objective = WeightedTagLoss()
optim = torch.optim.Adam(tagger.parameters(), lr=CFG["lr"])
for update in range(CFG["updates"]):
    ids, gold, agreement = annotated(CFG["batch"], gen)
    optim.zero_grad()
    loss = objective(tagger(ids), gold, agreement)
    loss.backward()
    optim.step()
    if update % 10 == 0:
        print(update, float(loss.detach()))
