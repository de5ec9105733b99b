# line 22: the node encoder is called under no_grad in the training too, so the optimizer has parameters without gradients
import torch
from torch import nn


class NodeEncoder(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.l1, self.l2 = nn.Linear(features, hidden), nn.Linear(hidden, hidden)

    def forward(self, adj, x):
        return adj @ self.l2(torch.relu(adj @ self.l1(x)))


class LinkTask:
    def __init__(self, adj, x, lr=0.01):
        self.adj, self.x = adj, x
        self.encoder = NodeEncoder(x.size(1), 16)
        self.scorer = nn.Bilinear(16, 16, 1)
        self.opt = torch.optim.Adam([*self.encoder.parameters(), *self.scorer.parameters()], lr=lr)

    @torch.no_grad()
    def embed(self):
        return self.encoder(self.adj, self.x)

    def scores(self, pairs):
        z = self.embed()
        return self.scorer(z[pairs[0]], z[pairs[1]]).squeeze(-1)

    def fit(self, links, epochs):
        n = self.x.size(0)
        for epoch in range(epochs):
            fake = torch.randint(n, links.shape)
            logits = self.scores(torch.cat([links, fake], dim=1))
            truth = torch.cat([torch.ones(links.size(1)), torch.zeros(links.size(1))])
            loss = nn.functional.binary_cross_entropy_with_logits(logits, truth)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if epoch % 10 == 0:
                print(epoch, loss.item())


torch.manual_seed(51)
group = torch.randint(3, (90,))
dense = ((group[:, None] == group[None]) & (torch.rand(90, 90) < 0.2)).float()
dense = ((dense + dense.t()) > 0).float().fill_diagonal_(1.0)
adj = dense / dense.sum(1, keepdim=True)
task = LinkTask(adj, torch.randn(90, 12))
task.fit(dense.nonzero().t(), epochs=40)
