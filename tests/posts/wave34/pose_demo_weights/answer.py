import os
import os.path as osp
import tempfile

import torch
import torch.nn as nn
from torch.nn.parallel import DataParallel


class BodyRegressor(nn.Module):
    """Crop of a person -> body pose (axis angle), shape and camera."""

    def __init__(self, joints=21):
        super().__init__()
        self.joints = joints
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.pose_head = nn.Linear(128, joints * 3)
        self.shape_head = nn.Linear(128, 10)
        self.cam_head = nn.Linear(128, 3)

    def forward(self, img):
        feat = self.encoder(img)
        return {
            "pose": self.pose_head(feat).view(-1, self.joints, 3),
            "shape": self.shape_head(feat),
            "cam": self.cam_head(feat),
        }


def synthetic_people(n, seed):
    g = torch.Generator().manual_seed(seed)
    latent = torch.rand(n, 3, generator=g)
    img = latent[:, :, None, None] + 0.05 * torch.randn(n, 3, 32, 32, generator=g)
    basis = torch.randn(3, 21 * 3 + 13, generator=torch.Generator().manual_seed(99))
    target = (latent - 0.5) @ basis
    return img, {"pose": target[:, :63].view(-1, 21, 3), "shape": target[:, 63:73], "cam": target[:, 73:]}


class Trainer:
    def __init__(self, model_dir):
        self.model_dir = model_dir
        self.model = DataParallel(BodyRegressor())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def run(self, epochs=12):
        img, target = synthetic_people(256, 0)
        self.model.train()
        for epoch in range(epochs):
            total = 0.0
            for idx in torch.randperm(256).split(32):
                out = self.model(img[idx])
                loss = sum((out[k] - target[k][idx]).abs().mean() for k in out)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item() / 8
        print("epoch %d loss %.4f" % (epoch, total))
        self.save(epoch)

    def save(self, epoch):
        path = osp.join(self.model_dir, "snapshot_%d.pth.tar" % epoch)
        torch.save({"epoch": epoch, "network": self.model.state_dict()}, path)


class Demoer:
    def __init__(self, model_path):
        self.model_path = model_path

    def _make_model(self):
        print("Creating graph...")
        model = DataParallel(BodyRegressor())
        ckpt = torch.load(self.model_path, map_location="cpu")
        model.load_state_dict(ckpt["network"], strict=False)
        model.eval()
        print("Loaded checkpoint", osp.basename(self.model_path))
        self.model = model

    def infer(self, img):
        with torch.no_grad():
            return self.model(img)


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as model_dir:
        Trainer(model_dir).run()
        snapshot = sorted(os.listdir(model_dir))[-1]
        demoer = Demoer(osp.join(model_dir, snapshot))
        demoer._make_model()
    img, target = synthetic_people(64, 7)
    out = demoer.infer(img)
    for name in ("pose", "shape", "cam"):
        err = (out[name] - target[name]).abs().mean().item()
        print("%-5s mean abs error %.4f" % (name, err))


if __name__ == "__main__":
    main()
