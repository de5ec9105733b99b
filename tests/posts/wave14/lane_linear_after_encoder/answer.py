import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

CAMERA_SIZE = (360, 640)          # height, width
NUM_LANES = 4
NUM_ROAD_TYPES = 3


def draw_road(rng, kind):
    h, w = CAMERA_SIZE
    frame = rng.normal(90, 12, size=(h, w, 3))
    slope = 0.2 + 0.3 * kind
    rows = np.arange(h // 2, h)
    for lane in range(NUM_LANES):
        cols = (w * (lane + 1) / (NUM_LANES + 1) + slope * (rows - h)).astype(int)
        keep = (cols >= 0) & (cols < w)
        frame[rows[keep], cols[keep]] = 250
    return np.clip(frame, 0, 255).astype(np.uint8)


class RoadFrames(Dataset):
    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.kinds = rng.integers(0, NUM_ROAD_TYPES, size=n)
        self.frames = [draw_road(rng, k) for k in self.kinds]

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        img = torch.from_numpy(self.frames[i]).permute(2, 0, 1).float() / 255
        return img, int(self.kinds[i])


class Downsampler(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out - n_in, 3, stride=2, padding=1, bias=False)
        self.pool = nn.MaxPool2d(2, stride=2)
        self.bn = nn.BatchNorm2d(n_out)

    def forward(self, x):
        return torch.relu(self.bn(torch.cat([self.conv(x), self.pool(x)], 1)))


class Encoder(nn.Module):
    """shared encoder, with a small head that tells the type of the road"""

    def __init__(self):
        super().__init__()
        self.initial = Downsampler(3, 12)
        self.layers = nn.Sequential(Downsampler(12, 24), Downsampler(24, 48))
        self.road_conv = nn.Sequential(
            nn.Conv2d(48, 48, 3, stride=2, padding=1), nn.ReLU(),
            nn.MaxPool2d(2, stride=2),
            nn.Conv2d(48, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.MaxPool2d(2, stride=2))
        self.road_linear_1 = nn.Linear(64 * 3 * 5, 128)
        self.road_linear_2 = nn.Linear(128, NUM_ROAD_TYPES)

    def forward(self, x):
        feat = self.layers(self.initial(x))
        road = self.road_conv(feat)
        road = road.view(road.size(0), -1)
        road = torch.relu(self.road_linear_1(road))
        return feat, self.road_linear_2(road)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(RoadFrames(24), batch_size=6, shuffle=True)
    encoder = Encoder()
    opt = torch.optim.Adam(encoder.parameters(), lr=5e-4)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(2):
        seen, total = 0, 0.0
        for frames, kinds in loader:
            features, road = encoder(frames)
            loss = loss_fn(road, kinds)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(kinds)
            seen += len(kinds)
        print("epoch", epoch, "road type loss", round(total / seen, 4))
