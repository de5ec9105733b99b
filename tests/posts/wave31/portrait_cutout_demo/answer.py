import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torchvision import transforms


class ConvBNReLU(nn.Module):
    def __init__(self, cin, cout, dilation=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=dilation, dilation=dilation)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class RSU(nn.Module):
    def __init__(self, cin, mid, cout):
        super().__init__()
        self.inp = ConvBNReLU(cin, cout)
        self.e1 = ConvBNReLU(cout, mid)
        self.e2 = ConvBNReLU(mid, mid)
        self.bottom = ConvBNReLU(mid, mid, dilation=2)
        self.d2 = ConvBNReLU(mid * 2, mid)
        self.d1 = ConvBNReLU(mid * 2, cout)

    def forward(self, x):
        x0 = self.inp(x)
        a = self.e1(x0)
        b = self.e2(F.max_pool2d(a, 2, ceil_mode=True))
        c = self.bottom(b)
        d = self.d2(torch.cat([c, b], 1))
        d = F.interpolate(d, size=a.shape[2:], mode="bilinear", align_corners=False)
        return self.d1(torch.cat([d, a], 1)) + x0


class U2NetSmall(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = RSU(3, 8, 16)
        self.stage2 = RSU(16, 8, 16)
        self.stage1d = RSU(32, 8, 16)
        self.side1 = nn.Conv2d(16, 1, 3, padding=1)
        self.side2 = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        h1 = self.stage1(x)
        h2 = self.stage2(F.max_pool2d(h1, 2, ceil_mode=True))
        up = F.interpolate(h2, size=h1.shape[2:], mode="bilinear", align_corners=False)
        d1 = self.side1(self.stage1d(torch.cat([up, h1], 1)))
        d2 = F.interpolate(self.side2(h2), size=x.shape[2:], mode="bilinear", align_corners=False)
        return torch.sigmoid(d1), torch.sigmoid(d2)


def prepare_workdir():
    root = tempfile.mkdtemp()
    rng = np.random.RandomState(0)
    for i in range(3):
        img = rng.randint(0, 90, (96, 80, 3))
        img[20:80, 20 + 5 * i:60] += 120
        Image.fromarray(img.astype(np.uint8)).save(os.path.join(root, "portrait_%d.png" % i))
    torch.manual_seed(0)
    net = U2NetSmall()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
    torch.save({"model": net.state_dict(), "epoch": 120}, os.path.join(root, "checkpoint.pth"))
    return root


def main():
    root = prepare_workdir()
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", default=root)
    parser.add_argument("--checkpoint", default=os.path.join(root, "checkpoint.pth"))
    parser.add_argument("--size", type=int, default=64)
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = U2NetSmall()
    checkpoint = torch.load(args.checkpoint, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    model.to(device)
    model.eval()
    print("loaded checkpoint of epoch", checkpoint["epoch"])

    to_input = transforms.Compose([
        transforms.Resize((args.size, args.size)),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])
    names = sorted(n for n in os.listdir(args.input) if n.endswith(".png"))
    for name in names:
        image = Image.open(os.path.join(args.input, name)).convert("RGB")
        with torch.no_grad():
            mask, _ = model(to_input(image).unsqueeze(0).to(device))
        mask = mask[0, 0].cpu().numpy()
        alpha = Image.fromarray((mask * 255).astype(np.uint8)).resize(image.size, Image.BILINEAR)
        image.putalpha(alpha)
        image.save(os.path.join(args.input, name.replace(".png", "_cutout.webp")))
        print(name, "mean alpha %.3f" % mask.mean())


if __name__ == "__main__":
    main()
