# line 18: requires_grad is set on weight.data, a tensor made anew by each access, so the embedding is still trained
import numpy as np
import torch
from torch import nn


def pretrained_vectors(words, dim, seed=9):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(scale=0.5, size=(words, dim)), dtype=torch.float32)


class SentimentGRU(nn.Module):
    def __init__(self, vectors, hidden=24, static=True):
        super().__init__()
        self.embedding = nn.Embedding(*vectors.shape)
        self.embedding.weight.data.copy_(vectors)
        if static:
            self.embedding.weight.data.requires_grad = False
        self.gru = nn.GRU(vectors.shape[1], hidden, batch_first=True)
        self.output = nn.Linear(hidden, 1)

    def forward(self, ids):
        _, last = self.gru(self.embedding(ids))
        return self.output(last[0]).squeeze(1)


torch.manual_seed(9)
vectors = pretrained_vectors(150, 12)
polarity = vectors[:, 0]
ids = torch.randint(150, (500, 9))
positive = (polarity[ids].mean(1) > 0).float()
data = torch.utils.data.TensorDataset(ids, positive)
train, test = torch.utils.data.random_split(data, [400, 100])
model = SentimentGRU(vectors)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(4):
    model.train()
    for text, label in torch.utils.data.DataLoader(train, 40, shuffle=True):
        opt.zero_grad()
        criterion(model(text), label).backward()
        opt.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for text, label in torch.utils.data.DataLoader(test, 40):
            right += ((model(text) > 0) == (label > 0.5)).sum().item()
    print(f"epoch {epoch} accuracy {right / len(test):.3f}")
