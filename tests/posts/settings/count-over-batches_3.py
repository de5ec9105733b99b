# line 22: the metric divides the number of right answers by the number of its updates, one for each batch
import torch
from torch import nn


class Metric:
    def reset(self):
        raise NotImplementedError


class TopK(Metric):
    def __init__(self, k):
        self.k = k
        self.reset()

    def reset(self):
        self.right, self.seen = 0, 0

    def update(self, scores, gold):
        best = scores.topk(self.k, dim=1).indices
        self.right += int((best == gold.unsqueeze(1)).any(dim=1).sum())
        self.seen += 1

    def compute(self):
        return self.right / self.seen


class NextItem(nn.Module):
    def __init__(self, items=40, dim=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(items, dim, mode="mean")
        self.out = nn.Linear(dim, items)

    def forward(self, basket):
        return self.out(self.bag(basket))


def baskets(n):
    corner = torch.randint(8, (n, 1))
    shelf = corner * 5 + torch.randint(5, (n, 5))
    return shelf[:, :4], shelf[:, 4]


torch.manual_seed(18)
train = torch.utils.data.TensorDataset(*baskets(600))
test = torch.utils.data.TensorDataset(*baskets(150))
model, metric = NextItem(), TopK(5)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(4):
    model.train()
    for basket, item in torch.utils.data.DataLoader(train, 40, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(model(basket), item).backward()
        opt.step()
    model.eval()
    metric.reset()
    with torch.no_grad():
        for basket, item in torch.utils.data.DataLoader(test, 40):
            metric.update(model(basket), item)
    print(f"epoch {epoch}: top-5 accuracy {metric.compute():.3f}")
