import torch
import torch.nn as nn
import torch.nn.functional as F


class ScanNet(nn.Module):
    """Slices of a CT volume, five tissue classes."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, kernel_size=5)
        self.conv2 = nn.Conv2d(12, 24, kernel_size=5)
        self.fc1 = nn.Linear(24 * 5 * 5, 60)
        self.fc2 = nn.Linear(60, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


def main(scans, labels):
    net = ScanNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    scans = (scans - scans.mean()) / scans.std()
    optimizer.zero_grad()
    outputs = net(scans)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    return loss, outputs


def example_inputs():
    return torch.rand(8, 32, 32), torch.randint(0, 5, (8,))
