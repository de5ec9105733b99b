# line 18: the positions of the kept tokens count within each sentence but index the flattened tokens of the whole batch
import torch
import torch.nn.functional as F
from torch import nn


class TokenPruner(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.keep = keep
        self.importance = nn.Linear(32, 1)

    def forward(self, x):
        batch, length, width = x.shape
        gate = torch.sigmoid(self.importance(x))
        kept = gate[..., 0].topk(self.keep, dim=1).indices
        rows = (x * gate).reshape(batch * length, width)
        kept = kept + length * torch.arange(batch).unsqueeze(1)
        return torch.index_select(rows, 0, kept.flatten()).view(batch, self.keep, width)


class PrunedClassifier(nn.Module):
    def __init__(self, vocab=100, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.prune = TokenPruner(keep=4)
        self.mix = nn.Sequential(nn.Linear(32, 32), nn.GELU())
        self.out = nn.Linear(32, classes)

    def forward(self, ids):
        tokens = self.prune(self.embed(ids))
        return self.out(self.mix(tokens).mean(dim=1))


def headlines(n):
    label = torch.randint(3, (n,))
    ids = torch.randint(30, 100, (n, 12))
    spot = torch.rand(n, 12).argsort(1)[:, :3]
    ids.scatter_(1, spot, label[:, None] * 10 + torch.randint(10, (n, 3)))
    return ids, label


torch.manual_seed(44)
ids, label = headlines(600)
net = PrunedClassifier()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    right = 0
    for rows in torch.randperm(600).split(40):
        logits = net(ids[rows])
        loss = F.cross_entropy(logits, label[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        right += logits.argmax(1).eq(label[rows]).sum().item()
    print(f"epoch {epoch}: accuracy {right / 600:.3f}")
