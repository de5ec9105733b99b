# line 42: the memory that attention reads was left by the reviews of the random batch before, not by these reviews
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


class MemoryBlock(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, memory=None):
        seen = x if memory is None else torch.cat([memory, x], dim=1)
        mixed, _ = self.attention(x, seen, seen, need_weights=False)
        return self.norm(x + mixed)


class ReviewModel(nn.Module):
    def __init__(self, vocab=60, dim=24, length=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.block = MemoryBlock(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, ids, memory=None):
        x = self.emb(ids)
        states = self.block(x, memory)
        return self.out(states.mean(1)), x.detach()


class ReviewTrainer:
    def __init__(self, model, size=25):
        self.model, self.size = model, size
        self.optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def epoch(self, data):
        self.model.train()
        memory, total = None, 0.0
        for ids, stars in DataLoader(data, batch_size=self.size, sampler=RandomSampler(data)):
            logits, _ = self.model(ids, memory)
            loss = F.cross_entropy(logits, stars)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(stars)
        return total / len(data)

    @torch.no_grad()
    def accuracy(self, data):
        self.model.eval()
        pairs = [(self.model(ids)[0].argmax(1), stars) for ids, stars in DataLoader(data, batch_size=50)]
        return sum((g == s).sum().item() for g, s in pairs) / len(data)


def reviews(n):
    ids = torch.randint(0, 60, (n, 12))
    return TensorDataset(ids, ((ids < 20).sum(1) > (ids >= 40).sum(1)).long())


torch.manual_seed(0)
trainer = ReviewTrainer(ReviewModel())
train, test = reviews(500), reviews(200)
for k in range(5):
    print(k, trainer.epoch(train), trainer.accuracy(test))
