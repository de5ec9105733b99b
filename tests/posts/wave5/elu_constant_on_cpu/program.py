import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader


class ERelu(nn.Module):
    """relu with a small constant floor that is shared by all units"""

    def __init__(self, floor=0.01):
        super(ERelu, self).__init__()
        self.constant = torch.zeros(1) + floor

    def forward(self, x):
        return torch.max(x, self.constant)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.act1 = ERelu()
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.act2 = ERelu()
        self.fc = nn.Linear(16 * 7 * 7, 10)

    def forward(self, x):
        x = self.pool(self.act1(self.conv1(x)))
        x = self.pool(self.act2(self.conv2(x)))
        return self.fc(x.view(x.size(0), -1))


device = torch.device("cuda")
data = TensorDataset(torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,)))
loader = DataLoader(data, batch_size=16, shuffle=True)

net = Net().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(2):
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = net(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
    print("epoch %d: %.4f" % (epoch, loss.item()))
