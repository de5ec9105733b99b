# line 25: the sampler of a training Subset gets weights only for a dict of two class frequencies (spam, ham)
import collections
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset, WeightedRandomSampler

torch.manual_seed(2)
CLASSES = ("ham", "spam")
label = (torch.rand(500) < 0.08).long()
words = torch.randint(50, (500, 15))
words[label == 1, :4] = torch.randint(45, 50, (int(label.sum()), 4))
everything = TensorDataset(words, label)
fold = torch.randperm(500)
train_part = Subset(everything, fold[:400].tolist())
test_part = Subset(everything, fold[400:].tolist())


def inverse_frequency(part):
    seen = collections.Counter(int(y) for _, y in part)
    return [len(part) / seen[k] for k in range(len(CLASSES))]


def make_sampler(part, draws=None):
    weights = inverse_frequency(part)
    return WeightedRandomSampler(weights, num_samples=draws or len(part))


class SpamNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(50, 16)
        self.f = nn.Linear(16, 1)

    def forward(self, w):
        return self.f(self.e(w)).squeeze(-1)


loader = DataLoader(train_part, batch_size=50, sampler=make_sampler(train_part), drop_last=False)
net = SpamNet()
opt = torch.optim.Adam(net.parameters(), lr=0.02)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(5):
    for w, y in loader:
        opt.zero_grad()
        loss = criterion(net(w), y.float())
        loss.backward()
        opt.step()
net.eval()
with torch.no_grad():
    w, y = next(iter(DataLoader(test_part, len(test_part))))
    found = (net(w) > 0).long()
print("loss", loss.item(), "accuracy", (found == y).float().mean().item())
