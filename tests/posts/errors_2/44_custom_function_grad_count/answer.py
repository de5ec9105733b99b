import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.lambd * grad_output, None


class DANN(nn.Module):
    def __init__(self, n_in=8, hidden=32, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU())
        self.label_head = nn.Linear(hidden, classes)
        self.domain_head = nn.Linear(hidden, 2)

    def forward(self, x, lambd):
        f = self.features(x)
        return self.label_head(f), self.domain_head(GradientReversal.apply(f, lambd))


torch.manual_seed(0)
w = torch.randn(8, 3)
src_x = torch.randn(400, 8)
src_y = (src_x @ w).argmax(1)
tgt_x = torch.randn(400, 8) + 0.7
loader = DataLoader(TensorDataset(src_x, src_y, tgt_x), batch_size=40, shuffle=True)

model = DANN()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
EPOCHS = 5

for epoch in range(EPOCHS):
    lambd = (epoch + 1) / EPOCHS
    for xs, ys, xt in loader:
        label_logits, dom_s = model(xs, lambd)
        _, dom_t = model(xt, lambd)
        domains = torch.cat([torch.zeros(len(xs)), torch.ones(len(xt))]).long()
        label_loss = F.cross_entropy(label_logits, ys)
        domain_loss = F.cross_entropy(torch.cat([dom_s, dom_t]), domains)
        optimizer.zero_grad()
        (label_loss + domain_loss).backward()
        optimizer.step()
    print(f"epoch {epoch} label {label_loss.item():.3f} domain {domain_loss.item():.3f}")
