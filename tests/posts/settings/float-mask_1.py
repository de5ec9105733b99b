# line 20: the key padding mask is a float mask of 0 and 1, which is added to the scores and hides nothing
import torch
from torch import nn

torch.manual_seed(24)


class SetScorer(nn.Module):
    """Scores a basket of goods, a set of up to ten items."""

    def __init__(self, items=60, dim=16):
        super().__init__()
        self.item = nn.Embedding(items, dim, padding_idx=0)
        self.seed = nn.Parameter(torch.randn(1, 1, dim))
        self.pool = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.score = nn.Linear(dim, 1)

    def forward(self, basket):
        goods = self.item(basket)
        absent = (basket == 0).type_as(goods)
        query = self.seed.expand(len(basket), -1, -1)
        summary, _ = self.pool(query, goods, goods, key_padding_mask=absent, need_weights=False)
        return self.score(summary).flatten()


def baskets(n):
    goods = torch.randint(1, 60, (n, 10))
    size = torch.randint(2, 11, (n, 1))
    goods = goods.masked_fill(torch.arange(10) >= size, 0)
    worth = torch.where(goods > 0, goods.float() / 60, 0.0).sum(1) / size[:, 0]
    return goods, worth


goods, worth = baskets(256)
scorer = SetScorer()
opt = torch.optim.Adam(scorer.parameters(), lr=5e-3)
for epoch in range(5):
    for idx in torch.randperm(256).split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(scorer(goods[idx]), worth[idx])
        loss.backward()
        opt.step()
    print("epoch", epoch, loss.item())
