# line 14: EarlyStopping keeps net.state_dict() itself (references), so the best weights change on
import torch
from torch import nn


class EarlyStopping:
    def __init__(self, patience=4):
        self.patience, self.bad = patience, 0
        self.best_loss, self.best_weights = float("inf"), None

    def __call__(self, value, net):
        if value < self.best_loss:
            self.best_loss, self.bad = value, 0
            self.best_weights = net.state_dict()
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, net):
        net.load_state_dict(self.best_weights)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = nn.Linear(8, 128)
        self.o = nn.Linear(128, 1)

    def forward(self, x):
        return self.o(torch.relu(self.h(x))).squeeze(1)


def noisy(n):
    x = torch.randn(n, 8)
    return x, x[:, 0] + torch.randn(n)


torch.manual_seed(0)
(x, y), (vx, vy) = noisy(60), noisy(200)
net, stopper = Net(), EarlyStopping()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(60):
    net.train()
    for i in torch.randperm(60).split(20):
        loss = nn.functional.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(vx), vy).item()
    if stopper(v, net):
        break
stopper.restore(net)
with torch.no_grad():
    print(epoch, stopper.best_loss, nn.functional.mse_loss(net(vx), vy).item())
