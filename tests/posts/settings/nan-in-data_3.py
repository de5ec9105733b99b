# line 15: the click rate of articles that nobody saw is 0 / 0, NaN, and goes to the layer as it is
import numpy as np
import torch
from torch import nn

np.random.seed(14)
N = 400
views = np.random.poisson(3.0, N).astype(np.float32)
clicks = np.random.binomial(views.astype(int), 0.3).astype(np.float32)
length = np.random.uniform(0.2, 3.0, N).astype(np.float32)


def article_features():
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.divide(clicks, views)
    popularity = np.log1p(views)
    return np.column_stack([rate, popularity, length])


class Ranker(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.hidden = nn.Linear(columns, 20)
        self.score = nn.Linear(20, 1)

    def forward(self, x):
        return self.score(torch.relu(self.hidden(x))).squeeze(-1)


features = torch.as_tensor(article_features())
quality = torch.as_tensor(0.5 * length - 0.1 * length**2 + 0.05 * np.random.randn(N).astype(np.float32))
torch.manual_seed(14)
ranker = Ranker(features.size(1))
opt = torch.optim.Adagrad(ranker.parameters(), lr=0.05)
for epoch in range(5):
    losses = []
    for rows in torch.randperm(N).split(40):
        left, right = rows.chunk(2)
        better = torch.sign(quality[left] - quality[right])
        loss = nn.functional.margin_ranking_loss(ranker(features[left]), ranker(features[right]), better, margin=0.5)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print("epoch", epoch, "ranking loss", sum(losses) / len(losses))
