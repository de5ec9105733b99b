import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)


class SensorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(30, 64), nn.ReLU())
        self.middle = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        return self.head(self.middle(self.stem(x)))


def freeze(part, on=True):
    for p in part.parameters():
        p.requires_grad = not on


def run_phase(name, model, loader, optimizer, epochs):
    criterion = nn.CrossEntropyLoss()
    model.train()
    for _ in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad(set_to_none=False)
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
    print('%s: loss %.4f' % (name, total / len(loader.dataset)))


x = torch.randn(300, 30)
y = (x[:, :5] + 0.3 * torch.randn(300, 5)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

model = SensorNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
run_phase('all layers', model, loader, optimizer, 3)

freeze(model.stem)
before = model.stem[0].weight.detach().clone()
run_phase('stem frozen', model, loader, optimizer, 3)
print('largest change of the stem', (model.stem[0].weight - before).abs().max().item())

freeze(model.stem, on=False)
run_phase('all layers again', model, loader, optimizer, 1)
