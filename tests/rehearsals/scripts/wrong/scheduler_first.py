import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, Dataset

EPOCHS = 4


class Moons(Dataset):
    def __init__(self, n, noise, seed):
        rng = np.random.RandomState(seed)
        angle = rng.rand(n) * np.pi
        side = rng.randint(0, 2, n)
        x = np.where(side, 1 - np.cos(angle), np.cos(angle))
        y = np.where(side, 0.5 - np.sin(angle), np.sin(angle))
        self.points = (np.stack([x, y], 1) + rng.randn(n, 2) * noise).astype(np.float32)
        self.side = side.astype(np.float32)

    def __getitem__(self, i):
        return self.points[i], self.side[i]

    def __len__(self):
        return len(self.points)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 20)
        self.output = nn.Linear(20, 1)

    def forward(self, x):
        return self.output(torch.tanh(self.hidden(x))).squeeze(1)


def train(epoch):
    model.train()
    scheduler.step()
    for points, side in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(points), side)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss %.4f" % loss.item(), "lr", optimizer.param_groups[0]["lr"])


def test():
    model.eval()
    correct = 0
    with torch.no_grad():
        for points, side in test_loader:
            correct += ((model(points) > 0).float() == side).sum().item()
    print("accuracy %.2f" % (correct / len(test_loader.dataset)))


torch.manual_seed(0)
train_loader = DataLoader(Moons(80, 0.1, 0), batch_size=20, shuffle=True)
test_loader = DataLoader(Moons(40, 0.1, 1), batch_size=20)
model = Classifier()
criterion = nn.BCEWithLogitsLoss()
optimizer = optim.SGD(model.parameters(), lr=0.5)
scheduler = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)

for epoch in range(EPOCHS):
    train(epoch)
    test()
