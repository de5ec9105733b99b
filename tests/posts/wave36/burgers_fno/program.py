"""1-d operator learning: initial condition u0 -> solution u(1) of a Burgers-like flow."""
import os
import tempfile
from timeit import default_timer

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralConv(nn.Module):
    def __init__(self, cin, cout, modes):
        super(SpectralConv, self).__init__()
        self.modes = modes
        self.w = nn.Parameter(torch.rand(cin, cout, modes, dtype=torch.cfloat) / (cin * cout))

    def forward(self, x):
        ft = torch.fft.rfft(x)
        out = torch.zeros(x.size(0), self.w.size(1), ft.size(-1), dtype=torch.cfloat)
        out[:, :, :self.modes] = torch.einsum('bim,iom->bom', ft[:, :, :self.modes], self.w)
        return torch.fft.irfft(out, n=x.size(-1))


class OperatorNet(nn.Module):
    def __init__(self, modes, width):
        super(OperatorNet, self).__init__()
        self.fc0 = nn.Linear(2, width)
        self.spec = nn.ModuleList([SpectralConv(width, width, modes) for _ in range(3)])
        self.skip = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(3)])
        self.fc1 = nn.Linear(width, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, x):
        x = self.fc0(x).permute(0, 2, 1)
        for spec, skip in zip(self.spec, self.skip):
            x = F.relu(spec(x) + skip(x))
        x = x.permute(0, 2, 1)
        return self.fc2(F.relu(self.fc1(x)))


def rel_l2(pred, true):
    pred, true = pred.reshape(pred.size(0), -1), true.reshape(true.size(0), -1)
    return ((pred - true).norm(dim=1) / true.norm(dim=1)).mean()


def write_data(path, n=60, res=2048):
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, res, endpoint=False)
    k = np.arange(1, 9)
    amp = rng.normal(size=(n, 8)) / k
    phase = rng.uniform(0, 2 * np.pi, size=(n, 8))
    arg = 2 * np.pi * k[None, :, None] * grid[None, None, :] + phase[:, :, None]
    a = (amp[:, :, None] * np.sin(arg)).sum(1)
    u = (amp[:, :, None] * np.exp(-0.05 * k ** 2)[None, :, None] * np.sin(arg - 0.3)).sum(1)
    np.savez(path, a=a.astype('float32'), u=u.astype('float32'))


################################################################
#  configurations
################################################################
torch.manual_seed(0)
ntrain = 40
ntest = 20

sub = 1  # subsampling rate
h = 2**11 // 2**3
s = h

batch_size = 10
learning_rate = 0.001
epochs = 4
modes = 12
width = 24

################################################################
#  read data
################################################################
data_path = os.path.join(tempfile.mkdtemp(), 'burgers_R10.npz')
write_data(data_path)
raw = np.load(data_path)
x_data = torch.from_numpy(raw['a'])[:, ::sub]
y_data = torch.from_numpy(raw['u'])[:, ::sub]

x_train, y_train = x_data[:ntrain], y_data[:ntrain]
x_test, y_test = x_data[-ntest:], y_data[-ntest:]

# cat the locations information
grid = torch.linspace(0, 1, s).reshape(1, s, 1)
x_train = torch.cat([x_train.reshape(ntrain, s, 1), grid.repeat(ntrain, 1, 1)], dim=2)
x_test = torch.cat([x_test.reshape(ntest, s, 1), grid.repeat(ntest, 1, 1)], dim=2)

train_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_train, y_train), batch_size=batch_size, shuffle=True)
test_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_test, y_test), batch_size=batch_size)

################################################################
#  training and evaluation
################################################################
model = OperatorNet(modes, width)
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=1e-4)
for ep in range(epochs):
    model.train()
    t1 = default_timer()
    train_l2 = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = rel_l2(model(x), y)
        loss.backward()
        optimizer.step()
        train_l2 += loss.item() / len(train_loader)
    model.eval()
    with torch.no_grad():
        test_l2 = sum(rel_l2(model(x), y).item() for x, y in test_loader) / len(test_loader)
    print(ep, '%.2fs' % (default_timer() - t1), 'train %.4f test %.4f' % (train_l2, test_l2))
