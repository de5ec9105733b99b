import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.transforms as T
from PIL import Image

work = os.path.join(tempfile.gettempdir(), "bisenet_demo")

parse = argparse.ArgumentParser()
parse.add_argument("--ckpt", type=str, default=os.path.join(work, "model_final.pth"))
parse.add_argument("--img_path", type=str, default=os.path.join(work, "000002.png"))
parse.add_argument("--out_path", type=str, default=os.path.join(work, "res.png"))
args = parse.parse_args()


class ConvBNReLU(nn.Module):
    def __init__(self, cin, cout, ks=3, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, ks, stride, ks // 2, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class SmallBiSeNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.spatial = nn.Sequential(
            ConvBNReLU(3, 16, 7, 2), ConvBNReLU(16, 16, 3, 2), ConvBNReLU(16, 32, 3, 2))
        self.context = nn.Sequential(
            ConvBNReLU(3, 8, 3, 2), ConvBNReLU(8, 16, 3, 2), ConvBNReLU(16, 32, 3, 2),
            ConvBNReLU(32, 32, 3, 2))
        self.atten = nn.Conv2d(32, 32, 1)
        self.fuse = ConvBNReLU(64, 32, 1)
        self.out = nn.Conv2d(32, n_classes, 1)

    def forward(self, x):
        size = x.shape[2:]
        sp = self.spatial(x)
        cp = self.context(x)
        cp = cp * torch.sigmoid(self.atten(cp.mean(dim=(2, 3), keepdim=True)))
        cp = F.interpolate(cp, size=sp.shape[2:], mode="bilinear", align_corners=True)
        logits = self.out(self.fuse(torch.cat([sp, cp], dim=1)))
        return F.interpolate(logits, size=size, mode="bilinear", align_corners=True)


def prepare_files():
    os.makedirs(work, exist_ok=True)
    rng = np.random.default_rng(9)
    ramp = np.linspace(40, 200, 370)[:, None] + rng.normal(0, 12, (370, 1226))
    Image.fromarray(ramp.clip(0, 255).astype(np.uint8)).save(args.img_path)
    torch.manual_seed(0)
    torch.save(SmallBiSeNet(19).state_dict(), args.ckpt)


prepare_files()

palette = np.random.default_rng(123).integers(0, 256, (256, 3)).astype(np.uint8)

net = SmallBiSeNet(n_classes=19)
net.load_state_dict(torch.load(args.ckpt, map_location="cpu"))
net.eval()

to_tensor = T.Compose([
    T.ToTensor(),
    T.Normalize((0.3257, 0.3690, 0.3223), (0.2112, 0.2148, 0.2115)),
])

im = to_tensor(Image.open(args.img_path)).unsqueeze(0)

with torch.no_grad():
    out = net(im).argmax(dim=1).squeeze().numpy()
pred = palette[out]
Image.fromarray(pred).save(args.out_path)
print("wrote", args.out_path, pred.shape, "classes:", np.unique(out).tolist())
