# line 35: the test loop collects outputs with their graphs: nothing turns gradients off
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(30, 64)
        self.d = nn.Dropout(0.3)
        self.b = nn.Linear(64, 4)

    def forward(self, x):
        return self.b(self.d(F.relu(self.a(x))))


class Engine:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), 3e-3)

    def train_epoch(self, loader):
        self.net.train()
        for x, y in loader:
            self.opt.zero_grad()
            F.cross_entropy(self.net(x), y).backward()
            self.opt.step()

    def test_epoch(self, loader):
        self.net.eval()
        outputs, labels = [], []
        for x, y in loader:
            outputs.append(self.net(x))
            labels.append(y)
        outputs, labels = torch.cat(outputs), torch.cat(labels)
        return F.cross_entropy(outputs, labels).item(), (outputs.argmax(1) == labels).float().mean().item()


torch.manual_seed(0)
x = torch.randn(600, 30)
y = x[:, :4].argmax(1)
train = DataLoader(TensorDataset(x[:400], y[:400]), 40, shuffle=True)
test = DataLoader(TensorDataset(x[400:], y[400:]), 20)
engine = Engine(Classifier())
for epoch in range(4):
    engine.train_epoch(train)
    print(epoch, engine.test_epoch(test))
