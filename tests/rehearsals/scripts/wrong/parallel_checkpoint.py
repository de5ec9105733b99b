import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
os.makedirs("checkpoints", exist_ok=True)


class SpeechCommandNet(nn.Module):
    def __init__(self, n_commands=8):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 40, stride=8)
        self.bn1 = nn.BatchNorm1d(16)
        self.conv2 = nn.Conv1d(16, 32, 3)
        self.bn2 = nn.BatchNorm1d(32)
        self.fc = nn.Linear(32, n_commands)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.bn1(self.conv1(x))), 4)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean(-1))


def recordings(n):
    command = np.random.randint(0, 8, n)
    t = np.linspace(0, 1, 800)
    wave = np.sin(2 * np.pi * (command[:, None] + 1) * 10 * t) + 0.2 * np.random.randn(n, 800)
    return TensorDataset(torch.tensor(wave[:, None, :], dtype=torch.float),
                         torch.tensor(command))


train_loader = DataLoader(recordings(64), batch_size=16, shuffle=True, drop_last=True)
test_loader = DataLoader(recordings(24), batch_size=8)

model = SpeechCommandNet().to(device)
model = nn.DataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)

for epoch in range(2):
    model.train()
    for data, target in train_loader:
        data, target = data.to(device), target.to(device)
        loss = F.cross_entropy(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Train Epoch: {epoch}\tLoss: {loss.item():.6f}")
    torch.save(model.state_dict(), f"checkpoints/epoch_{epoch}.pt")

# evaluate the last checkpoint on one device
net = SpeechCommandNet().to(device)
net.load_state_dict(torch.load("checkpoints/epoch_1.pt", map_location=device))
net.eval()
correct = 0
with torch.no_grad():
    for data, target in test_loader:
        pred = net(data.to(device)).argmax(dim=-1)
        correct += pred.eq(target.to(device)).sum().item()
print(f"Accuracy: {correct}/{len(test_loader.dataset)}")
