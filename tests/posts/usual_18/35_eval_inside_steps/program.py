"""Step-based training of a ranking model for search results, with evaluation every N steps."""
import itertools
import logging
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
logger = logging.getLogger("ranker")


class QueryResults(Dataset):
    """Each item: features of ten results for one query and their graded relevance."""

    def __init__(self, n, seed, k=10, d=12):
        g = torch.Generator().manual_seed(seed)
        w = torch.randn(d, generator=torch.Generator().manual_seed(123))
        self.x = torch.randn(n, k, d, generator=g)
        score = self.x @ w + 0.5 * torch.randn(n, k, generator=g)
        self.rel = (score.argsort(1).argsort(1) >= 7).float() + (score.argsort(1).argsort(1) == 9).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.rel[i]


class Ranker(nn.Module):
    def __init__(self, d=12, hidden=64, p=0.3):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d, hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def listnet_loss(scores, rel):
    return -(F.softmax(rel, -1) * F.log_softmax(scores, -1)).sum(-1).mean()


def ndcg(scores, rel, k=5):
    discount = 1.0 / torch.log2(torch.arange(k) + 2.0)
    gain = lambda r: ((2 ** r[:, :k] - 1) * discount).sum(-1)
    ranked = rel.gather(1, scores.argsort(1, descending=True))
    return (gain(ranked) / gain(rel.sort(1, descending=True).values)).mean().item()


class Trainer:
    def __init__(self, model, train_loader, eval_loader, max_steps=300, eval_every=50):
        self.model, self.train_loader, self.eval_loader = model, train_loader, eval_loader
        self.max_steps, self.eval_every = max_steps, eval_every
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
        warm = 20
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda s: min(1.0, (s + 1) / warm) * 0.5 * (1 + math.cos(math.pi * s / max_steps)))

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            values = [ndcg(self.model(x), rel) for x, rel in self.eval_loader]
        return sum(values) / len(values)

    def endless(self):
        for _ in itertools.count():
            yield from self.train_loader

    def fit(self):
        self.model.train()
        for step, (x, rel) in enumerate(itertools.islice(self.endless(), self.max_steps), start=1):
            loss = listnet_loss(self.model(x), rel)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.scheduler.step()
            if step % self.eval_every == 0:
                logger.info("step %d loss %.4f ndcg@5 %.4f", step, loss.item(), self.evaluate())


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(QueryResults(256, 0), batch_size=16, shuffle=True)
    eval_loader = DataLoader(QueryResults(100, 1), batch_size=50)
    Trainer(Ranker(), train_loader, eval_loader).fit()
