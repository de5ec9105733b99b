import torch
import torch.nn as nn


class FrameEncoder(nn.Module):
    def __init__(self, c, feat):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, c, 5, stride=2, padding=2),
            nn.ELU(),
            nn.Conv2d(c, 2 * c, 3, stride=2, padding=1),
            nn.ELU(),
            nn.AdaptiveAvgPool2d((3, 4)),
        )
        self.fc = nn.Linear(c * 3 * 4, feat)

    def forward(self, x):
        x = self.conv(x)
        return self.fc(torch.flatten(x, 1))


class DriverNet(nn.Module):
    def __init__(self, channels, feat, n_speed, hidden):
        super().__init__()
        self.encoder = FrameEncoder(channels, feat)
        self.lstm = nn.LSTM(feat, hidden, batch_first=True)
        self.steer = nn.Linear(hidden, 1)
        self.brake = nn.Linear(feat, 2)

    def forward(self, frames, speed):
        b, t = frames.shape[:2]
        f = self.encoder(frames.reshape(-1, *frames.shape[2:]))
        f = f.reshape(b, t, -1)
        out, _ = self.lstm(torch.cat([f, speed], dim=-1))
        last = out[:, -1]
        return torch.tanh(self.steer(last)), self.brake(last)


class Model(nn.Module):
    def __init__(self, channels=8, feat=30, n_speed=2, hidden=44):
        super().__init__()
        self.net = DriverNet(channels, feat, n_speed, hidden)

    def forward(self, frames, speed):
        return self.net(frames, speed)


def example_inputs():
    return torch.rand(2, 5, 3, 36, 48), torch.rand(2, 5, 2)
