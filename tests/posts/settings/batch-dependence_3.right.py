# line 24: the word counts of each review are divided by the largest count of the whole batch
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

VOCAB = 60


class Reviews(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, VOCAB, (n, 30), generator=g)
        self.stars = (self.ids < 25).sum(1).gt(12).long()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i], self.stars[i]


def term_frequencies(ids):
    counts = torch.zeros(ids.size(0), VOCAB).scatter_add_(1, ids, torch.ones(ids.shape))
    return torch.div(counts, torch.amax(counts, dim=1, keepdim=True))


class BagOfWords(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(VOCAB, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, ids):
        return self.net(term_frequencies(ids))


torch.manual_seed(0)
clf = BagOfWords()
opt = torch.optim.Adam(clf.parameters(), lr=5e-3)
for epoch in range(5):
    clf.train()
    for ids, stars in DataLoader(Reviews(400, 1), batch_size=32, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(clf(ids), stars).backward()
        opt.step()

clf.eval()
right = seen = 0
with torch.no_grad():
    for ids, stars in DataLoader(Reviews(100, 2), batch_size=32):
        right += (clf(ids).argmax(1) == stars).sum().item()
        seen += len(stars)
print(f"accuracy {right / seen:.3f}")
