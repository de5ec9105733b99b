import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

MAX_DISP = 24
SIZES = [(98, 192), (92, 220), (96, 208), (94, 200)]


def write_scenes(root, n):
    rng = np.random.RandomState(5)
    for i in range(n):
        h, w = SIZES[i % len(SIZES)]
        img = rng.randint(0, 255, (h // 4, w // 4 + 6, 3)).astype("uint8")
        img = np.array(Image.fromarray(img).resize((w + MAX_DISP, h), Image.BILINEAR))
        d = int(rng.randint(2, MAX_DISP))
        Image.fromarray(img[:, :w]).save(os.path.join(root, "%03d_left.png" % i))
        Image.fromarray(img[:, d:d + w]).save(os.path.join(root, "%03d_right.png" % i))
        np.save(os.path.join(root, "%03d_disp.npy" % i), np.full((h, w), d, dtype="float32"))


class StereoScenes(Dataset):
    def __init__(self, root):
        self.root = root
        self.names = sorted(f[:3] for f in os.listdir(root) if f.endswith("_left.png"))

    def load(self, name, side):
        img = Image.open(os.path.join(self.root, name + "_" + side + ".png")).convert("RGB")
        return np.asarray(img, dtype="float32") / 255.0

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        left = torch.from_numpy(self.load(name, "left")).permute(2, 0, 1)
        right = torch.from_numpy(self.load(name, "right")).permute(2, 0, 1)
        disp = torch.from_numpy(np.load(os.path.join(self.root, name + "_disp.npy"))).unsqueeze(0)
        return {"left": left, "right": right, "disp": disp}


class TinyStereo(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.feat = nn.Sequential(nn.Conv2d(3, c, 5, 2, 2), nn.ReLU(), nn.Conv2d(c, c, 3, 2, 1))
        self.query = nn.Conv2d(c, c, 1)
        self.key = nn.Conv2d(c, c, 1)

    def forward(self, left, right):
        q = self.query(self.feat(left)).permute(0, 2, 3, 1)
        k = self.key(self.feat(right)).permute(0, 2, 1, 3)
        attn = (q @ k / q.size(-1) ** 0.5).softmax(-1)
        pos = torch.arange(q.size(2), dtype=q.dtype, device=q.device)
        disp = pos[None, None, :] - (attn * pos).sum(-1)
        disp = F.interpolate(disp.unsqueeze(1), size=left.shape[-2:], mode="bilinear", align_corners=False)
        return disp * 4


def main(batch_size=2):
    torch.manual_seed(0)
    root = tempfile.mkdtemp()
    write_scenes(root, 8)
    loader = DataLoader(StereoScenes(root), batch_size=batch_size, shuffle=False)
    model = TinyStereo()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(2):
        total = 0.0
        for data in loader:
            pred = model(data["left"], data["right"])
            loss = F.smooth_l1_loss(pred, data["disp"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch", epoch, "loss", total / len(loader))


if __name__ == "__main__":
    main()
