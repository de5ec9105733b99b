# line 16: the highest score of each row (amax), not its class, is compared with the labels
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Accuracy:
    def __init__(self):
        self.reset()

    def reset(self):
        self.hits = self.count = 0

    def update(self, scores, truth):
        best = scores.amax(dim=-1)
        self.hits += torch.sum(best == truth).item()
        self.count += truth.numel()

    def compute(self):
        return self.hits / max(self.count, 1)


class BagOfWords(nn.Module):
    def __init__(self, vocab, topics):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, 16)
        self.out = nn.Linear(16, topics)

    def forward(self, ids):
        return self.out(self.bag(ids))


torch.manual_seed(2)
topic = torch.randint(5, (240,))
words = torch.randint(20, (240, 12)) + 20 * topic[:, None]
train = DataLoader(TensorDataset(words[:180], topic[:180]), 30, shuffle=True)
valid = DataLoader(TensorDataset(words[180:], topic[180:]), 30)
model, metric = BagOfWords(100, 5), Accuracy()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(4):
    model.train()
    for ids, label in train:
        opt.zero_grad()
        nn.functional.cross_entropy(model(ids), label).backward()
        opt.step()
    model.eval()
    metric.reset()
    with torch.no_grad():
        for ids, label in valid:
            metric.update(model(ids), label)
    print(f"epoch {epoch} accuracy {metric.compute():.3f}")
