# line 24: a softmax cross entropy is used for films that have several genres
import numpy as np
import torch
from torch import nn

GENRES = ["comedy", "drama", "crime", "horror", "romance"]
rng = np.random.default_rng(23)
torch.manual_seed(23)


def plots(n):
    genres = (rng.random((n, len(GENRES))) < 0.4).astype(np.float32)
    genres[np.arange(n), rng.integers(0, len(GENRES), n)] = 1
    words = rng.poisson(0.3, (n, 50)).astype(np.float32)
    for g in range(len(GENRES)):
        words[:, 10 * g : 10 * g + 10] += genres[:, g : g + 1] * rng.poisson(0.8, (n, 10))
    return torch.from_numpy(words), torch.from_numpy(genres)


class GenreTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(50, 40), nn.ReLU(), nn.Linear(40, len(GENRES)))
        self.criterion = nn.CrossEntropyLoss()

    def training_loss(self, words, genres):
        return self.criterion(self.mlp(words), genres)

    @torch.no_grad()
    def tag(self, words, threshold=0.5):
        return self.mlp(words).sigmoid().ge(threshold)


words, genres = plots(400)
tagger = GenreTagger()
opt = torch.optim.Adam(tagger.parameters(), lr=5e-3)
for epoch in range(8):
    tagger.train()
    for rows in torch.randperm(320).split(40):
        opt.zero_grad()
        tagger.training_loss(words[rows], genres[rows]).backward()
        opt.step()
tagger.eval()
found, truth = tagger.tag(words[320:]), genres[320:].bool()
hit = (found & truth).sum().item()
print("precision", hit / max(found.sum().item(), 1), "recall", hit / truth.sum().item())
