# line 15: the training scores are joined to a growing tensor without detach, so the graphs of all steps stay alive
import torch
from torch import nn


class RunningAUC:
    def __init__(self):
        self.reset()

    def reset(self):
        self.scores = torch.empty(0)
        self.labels = torch.empty(0)

    def update(self, scores, labels):
        self.scores = torch.cat((self.scores, scores.detach()))
        self.labels = torch.cat((self.labels, labels))

    def compute(self):
        order = self.scores.argsort()
        rank = torch.empty(len(order))
        rank[order] = torch.arange(1, len(order) + 1, dtype=torch.float)
        pos = self.labels > 0.5
        n_pos, n_neg = pos.sum(), (~pos).sum()
        return ((rank[pos].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)).item()


class ChurnNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)[:, 0]


torch.manual_seed(15)
customers = torch.randn(900, 8)
churn = torch.bernoulli(torch.sigmoid(customers[:, 0] - customers[:, 1] * customers[:, 2]))
net, auc = ChurnNet(), RunningAUC()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(4):
    auc.reset()
    for rows in torch.randperm(900).split(30):
        score = net(customers[rows])
        loss = nn.functional.binary_cross_entropy_with_logits(score, churn[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        auc.update(score, churn[rows])
    print(f"epoch {epoch}: training AUC {auc.compute():.3f}")
