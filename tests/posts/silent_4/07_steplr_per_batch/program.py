import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
x = torch.randn(1600, 30)
teacher = nn.Sequential(nn.Linear(30, 16), nn.Tanh(), nn.Linear(16, 5))
with torch.no_grad():
    y = teacher(x).argmax(1)

train = DataLoader(TensorDataset(x[:1280], y[:1280]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[1280:], y[1280:]), batch_size=320)

net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 5))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = StepLR(optimizer, step_size=10, gamma=0.1)

for epoch in range(30):
    net.train()
    for inputs, target in train:
        optimizer.zero_grad()
        loss = criterion(net(inputs), target)
        loss.backward()
        optimizer.step()
        scheduler.step()

    net.eval()
    correct = 0
    with torch.no_grad():
        for inputs, target in valid:
            correct += (net(inputs).argmax(1) == target).sum().item()
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1} val acc {correct / 320:.3f}")
