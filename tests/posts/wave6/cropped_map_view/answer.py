import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CausalConv2d(nn.Module):
    def __init__(self, inp, out, kernel=(4, 3)):
        super().__init__()
        self.trim = kernel[0] - 1
        self.side = kernel[1] - 1
        self.conv = nn.Conv2d(inp, out, kernel, padding=(self.trim, self.side))

    def forward(self, x):
        x = self.conv(x)
        return x[:, :, :-self.trim, :-self.side]


class SpectrogramNet(nn.Module):
    def __init__(self, frames=16, bins=20, classes=5):
        super().__init__()
        self.conv1 = CausalConv2d(1, 8)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = CausalConv2d(8, 8)
        self.fc1 = nn.Linear(8 * frames * bins, 64)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.conv2(x)
        x = x.reshape(x.size(0), -1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


def keywords(n):
    labels = torch.randint(0, 5, (n,))
    spec = 0.5 * torch.rand(n, 1, 16, 20)
    for i, label in enumerate(labels.tolist()):
        spec[i, 0, :, 4 * label:4 * label + 4] += 0.5
    return spec, labels


net = SpectrogramNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(3):
    running_loss, correct = 0.0, 0
    for _ in range(8):
        inputs, labels = keywords(32)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        correct += (outputs.argmax(1) == labels).sum().item()
    print("[%d] loss: %.3f accuracy: %.3f" % (epoch + 1, running_loss / 8, correct / 256))
