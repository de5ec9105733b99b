import torch
import torch.nn as nn


class M3(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 32, kernel_size=80, stride=16)
        self.bn1 = nn.BatchNorm1d(32)
        self.pool1 = nn.MaxPool1d(4)
        self.conv2 = nn.Conv1d(32, 64, kernel_size=3)
        self.bn2 = nn.BatchNorm1d(64)
        self.pool2 = nn.AdaptiveAvgPool1d(8)
        self.fc1 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.pool1(torch.relu(self.bn1(self.conv1(x))))
        x = self.pool2(torch.relu(self.bn2(self.conv2(x))))
        x = torch.flatten(x, 1)
        return self.fc1(x)


def main(waveform, label):
    model = M3()
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    logits = model(waveform)
    loss = nn.CrossEntropyLoss()(logits, label)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return logits, loss


def example_inputs():
    return torch.randn(4, 4000), torch.randint(0, 10, (4, 1))
