import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

ALPHA = 0.12
EPOCHS = 10


def make_data(n=400, dim=20):
    torch.manual_seed(1)
    x = torch.rand(n, dim)
    base = torch.randn(dim, 10)
    y1 = torch.tanh(x @ (base + 0.1 * torch.randn(dim, 10)))
    y2 = 10 * torch.tanh(x @ (base + 0.1 * torch.randn(dim, 10)))
    return x, y1, y2


class TwoTaskNet(nn.Module):
    def __init__(self, dim, hidden, out):
        super(TwoTaskNet, self).__init__()
        self.shared = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head1 = nn.Linear(hidden, out)
        self.head2 = nn.Linear(hidden, out)

    def forward(self, x):
        h = self.shared(x)
        return self.head1(h), self.head2(h)


x, y1, y2 = make_data()
loader = DataLoader(TensorDataset(x, y1, y2), batch_size=50, shuffle=True)

model = TwoTaskNet(20, 64, 10)
mse = nn.MSELoss()
grad_loss = nn.L1Loss()

weight1 = torch.ones(1, requires_grad=True)
weight2 = torch.ones(1, requires_grad=True)
weights = [weight1, weight2]
opt1 = torch.optim.Adam(model.parameters(), lr=1e-3)
opt2 = torch.optim.Adam(weights, lr=1e-3)

initial = None
for epoch in range(EPOCHS):
    epoch_losses = []
    for xb, t1, t2 in loader:
        out1, out2 = model(xb)
        l1 = weights[0] * mse(out1, t1)
        l2 = weights[1] * mse(out2, t2)
        loss = (l1 + l2) / 2
        if initial is None:
            initial = (l1.data, l2.data)

        opt1.zero_grad()
        loss.backward(retain_graph=True)

        shared_weight = model.shared[2].weight
        g1 = torch.autograd.grad(l1, shared_weight, retain_graph=True, create_graph=True)
        g2 = torch.autograd.grad(l2, shared_weight, retain_graph=True, create_graph=True)
        norm1 = torch.norm(g1[0], 2)
        norm2 = torch.norm(g2[0], 2)
        norm_avg = (norm1 + norm2) / 2

        ratio1 = l1 / initial[0]
        ratio2 = l2 / initial[1]
        ratio_avg = (ratio1 + ratio2) / 2
        target1 = (norm_avg * (ratio1 / ratio_avg) ** ALPHA).detach()
        target2 = (norm_avg * (ratio2 / ratio_avg) ** ALPHA).detach()

        opt2.zero_grad()
        balance = grad_loss(norm1, target1) + grad_loss(norm2, target2)
        balance.backward()
        opt2.step()
        opt1.step()

        with torch.no_grad():
            scale = 2 / (weights[0] + weights[1])
            for w in weights:
                w.mul_(scale)
        epoch_losses.append(loss.item())
    print('epoch %2d loss %.4f weights %.3f %.3f' % (
        epoch, np.mean(epoch_losses), weights[0].item(), weights[1].item()))
