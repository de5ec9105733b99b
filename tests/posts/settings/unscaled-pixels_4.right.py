# line 38: the camera demo subtracts the mean of 0..1 pictures from a frame of 0..255 values
import numpy as np
import torch
from torch import nn
from torchvision.transforms import Normalize, functional as TF

normalize = Normalize(mean=[0.5], std=[0.2])


class GestureData(torch.utils.data.Dataset):
    def __init__(self, frames, labels):
        self.frames, self.labels = frames, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return normalize(TF.to_tensor(self.frames[i])), self.labels[i]


class Camera:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def read(self):
        label = int(self.rng.integers(3))
        frame = self.rng.integers(40, 120, (18, 18, 1), dtype=np.uint8)
        frame[6 * label : 6 * label + 6] += 100
        return frame, label


class LiveDemo:
    def __init__(self, net):
        self.net = net.eval()

    @torch.no_grad()
    def classify(self, frame):
        picture = torch.from_numpy(frame).permute(2, 0, 1).float() / 255
        return self.net(normalize(picture).unsqueeze(0)).argmax(1).item()


torch.manual_seed(39)
shots = [Camera(k).read() for k in range(240)]
data = GestureData([f for f, _ in shots], [k for _, k in shots])
net = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.Tanh(), nn.Flatten(), nn.Linear(8 * 64, 3))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
net.train()
for epoch in range(3):
    for x, y in torch.utils.data.DataLoader(data, batch_size=24, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
demo, camera = LiveDemo(net), Camera(1000)
answers = [(demo.classify(frame), label) for frame, label in (camera.read() for _ in range(60))]
print("right in the demo", sum(a == b for a, b in answers) / len(answers))
