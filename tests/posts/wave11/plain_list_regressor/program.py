import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)


class Net(nn.Module):

    def __init__(self, n_in, width=32, depth=3):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.layers = [nn.Linear(width, width) for _ in range(depth)]
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        for layer in self.layers:
            x = self.drop(torch.tanh(layer(x)))
        return self.out(x)


def target(x):
    return torch.sin(3 * x[:, :1]) * x[:, 1:2] + 0.5 * torch.cos(2 * x[:, 2:3] * x[:, 3:4])


def run_epoch(net, loader, loss_fn, optimizer=None):
    net.train(optimizer is not None)
    total, count = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for xb, yb in loader:
            loss = loss_fn(net(xb), yb)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(xb)
            count += len(xb)
    return total / count


x = torch.rand(1200, 6) * 2 - 1
y = target(x)
train_dl = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=50, shuffle=True)
valid_dl = DataLoader(TensorDataset(x[1000:], y[1000:]), batch_size=200)

net = Net(6)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3, weight_decay=1e-5)
loss_fn = nn.MSELoss()

best = float('inf')
for epoch in range(20):
    train_loss = run_epoch(net, train_dl, loss_fn, optimizer)
    valid_loss = run_epoch(net, valid_dl, loss_fn)
    best = min(best, valid_loss)
    if epoch % 5 == 4:
        print(f'{epoch + 1:3d}  train {train_loss:.4f}  valid {valid_loss:.4f}')
print(f'best valid loss {best:.4f}')
