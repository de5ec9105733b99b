import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

EPOCHS = 5
BATCH = 32
MODEL_PATH = os.path.join(tempfile.mkdtemp(), 'gesture_net.pth')


class GestureNet(nn.Module):
    """ Classifies 1 second of accelerometer data (3 axes, 50 Hz) in 6 gestures """

    def __init__(self, n_classes=6):
        super(GestureNet, self).__init__()
        self.conv1 = nn.Conv1d(3, 16, 5, padding=2)
        self.conv2 = nn.Conv1d(16, 32, 5, padding=2)
        self.pool = nn.MaxPool1d(2)
        self.fc1 = nn.Linear(32 * 12, 64)
        self.fc2 = nn.Linear(64, n_classes)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.flatten(1)
        x = self.drop(F.relu(self.fc1(x)))
        return self.fc2(x)


def make_data(n):
    y = torch.randint(0, 6, (n,))
    t = torch.arange(50) / 50
    freq = (y + 1).float()[:, None, None]
    phase = torch.rand(n, 3, 1) * 6.28
    x = torch.sin(6.28 * freq * t + phase) + 0.3 * torch.randn(n, 3, 50)
    return x, y


def train():
    x, y = make_data(600)
    net = GestureNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(EPOCHS):
        net.train()
        perm = torch.randperm(len(x))
        epoch_loss = 0.0
        for i in range(0, len(x), BATCH):
            idx = perm[i:i + BATCH]
            optimizer.zero_grad()
            loss = criterion(net(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() * len(idx)
        print('Epoch %d, loss %.3f' % (epoch + 1, epoch_loss / len(x)))

    torch.save(net.state_dict(), MODEL_PATH)
    print('Saved to', os.path.basename(MODEL_PATH))


def test():
    net = GestureNet()
    net.load_state_dict(torch.load(MODEL_PATH))
    net.eval()
    x, y = make_data(200)
    with torch.no_grad():
        pred = net(x).argmax(dim=1)
    print('Test accuracy: %.1f %%' % (100.0 * (pred == y).sum().item() / len(y)))


if __name__ == '__main__':
    torch.manual_seed(1)
    train()
    test()
