import math

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

SEGMENT = 90      # samples in one recorded segment
WIDTH = 45        # samples the net looks at
BATCH = 16        # segments per update
EPOCHS = 8

np.random.seed(4)
torch.manual_seed(4)


def record(n):
    """Pulse-like signals of many sensors. Every sensor has its own level and gain."""
    t = np.arange(SEGMENT)
    level = np.random.uniform(-6, 6, (n, 1))
    gain = np.random.uniform(0.5, 4, (n, 1))
    period = np.random.uniform(18, 30, (n, 1))
    start = np.random.uniform(0, 2 * math.pi, (n, 1))
    phase = start + 2 * math.pi * t / period
    wave = np.sin(phase) + 0.4 * np.sin(2 * phase + 1.0)
    x = level + gain * (wave + 0.05 * np.random.randn(n, SEGMENT))
    y = np.stack([np.sin(phase), np.cos(phase)], axis=-1)
    return torch.FloatTensor(x).unsqueeze(1), torch.FloatTensor(y)


class PhaseNet(nn.Module):
    def __init__(self):
        super(PhaseNet, self).__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Conv1d(32, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
        )
        self.head = nn.Linear(32 * 12, 2)

    def forward(self, x):
        x = self.features(x)
        return self.head(x.view(x.size(0), -1))


def sliding(segment, labels):
    """(1, SEGMENT) -> (n, 1, WIDTH), each with the phase at its last sample."""
    windows = segment.unfold(1, WIDTH, 1).transpose(0, 1)
    return windows, labels[WIDTH - 1:]


def run_segments(net, criterion, x, y):
    pairs = [sliding(segment, labels) for segment, labels in zip(x, y)]
    windows = torch.cat([w for w, _ in pairs])
    target = torch.cat([t for _, t in pairs])
    return criterion(net(windows), target)


def main():
    x_train, y_train = record(192)
    x_test, y_test = record(64)

    net = PhaseNet()
    criterion = nn.MSELoss()
    optimizer = optim.Adam(net.parameters(), lr=2e-3)

    for epoch in range(EPOCHS):
        net.train()
        perm = torch.randperm(len(x_train))
        running = 0.0
        for i in range(0, len(perm), BATCH):
            idx = perm[i:i + BATCH]
            optimizer.zero_grad()
            loss = run_segments(net, criterion, x_train[idx], y_train[idx])
            loss.backward()
            optimizer.step()
            running += loss.item() * len(idx)

        net.eval()
        test_loss = 0.0
        with torch.no_grad():
            for i in range(0, len(x_test), BATCH):
                part = run_segments(net, criterion, x_test[i:i + BATCH], y_test[i:i + BATCH])
                test_loss += part.item() * len(x_test[i:i + BATCH])
        print('epoch %d  train mse %.4f  test mse %.4f' % (epoch, running / len(x_train), test_loss / len(x_test)))

    net.eval()
    with torch.no_grad():
        windows, target = sliding(x_test[0], y_test[0])
        out = net(windows)
    angle = torch.atan2(out[:, 0], out[:, 1]) - torch.atan2(target[:, 0], target[:, 1])
    angle = (angle + math.pi) % (2 * math.pi) - math.pi
    print('phase error on the first test segment: %.1f degrees' % (angle.abs().mean().item() * 180 / math.pi))


if __name__ == '__main__':
    main()
