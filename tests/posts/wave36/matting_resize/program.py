import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torchvision import models

MAX_SIDE = 448


def up_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
        nn.Upsample(scale_factor=2, mode='bilinear', align_corners=False),
    )


class GlanceFocusMatting(nn.Module):
    """Shared ResNet-34 encoder, one decoder for the trimap and one for the alpha."""

    def __init__(self):
        super().__init__()
        r = models.resnet34(weights=None)
        self.enc0 = nn.Sequential(r.conv1, r.bn1, r.relu)
        self.enc1 = nn.Sequential(r.maxpool, r.layer1)
        self.enc2 = r.layer2
        self.enc3 = r.layer3
        self.enc4 = r.layer4

        self.glance4 = up_block(512, 128)
        self.glance3 = up_block(128, 64)
        self.glance2 = nn.Sequential(up_block(64, 32), nn.Upsample(scale_factor=4), nn.Conv2d(32, 3, 1))

        self.focus4 = up_block(512, 256)
        self.focus3 = up_block(512, 128)
        self.focus2 = up_block(256, 64)
        self.focus1 = up_block(128, 32)
        self.focus0 = nn.Sequential(up_block(96, 32), nn.Conv2d(32, 1, 1))

    def forward(self, img):
        e0 = self.enc0(img)
        e1 = self.enc1(e0)
        e2 = self.enc2(e1)
        e3 = self.enc3(e2)
        e4 = self.enc4(e3)

        trimap = self.glance2(self.glance3(self.glance4(e4)))

        d = self.focus4(e4)
        d = self.focus3(torch.cat((d, e3), dim=1))
        d = self.focus2(torch.cat((d, e2), dim=1))
        d = self.focus1(torch.cat((d, e1), dim=1))
        alpha = torch.sigmoid(self.focus0(torch.cat((d, e0), dim=1)))
        return trimap, alpha


def fuse(trimap, alpha):
    region = trimap.argmax(dim=1, keepdim=True)
    fg = (region == 2).float()
    unknown = (region == 1).float()
    return fg + unknown * alpha


def load_image(path):
    img = Image.open(path).convert('RGB')
    w, h = img.size
    ratio = MAX_SIDE / max(w, h)
    new_w, new_h = int(w * ratio), int(h * ratio)
    small = img.resize((new_w, new_h), Image.BILINEAR)
    x = torch.from_numpy(np.array(small)).permute(2, 0, 1).float() / 255.0
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    return ((x - mean) / std).unsqueeze(0), (h, w)


@torch.no_grad()
def infer(model, path):
    x, (h, w) = load_image(path)
    trimap, alpha = model(x)
    matte = fuse(trimap, alpha)
    matte = F.interpolate(matte, size=(h, w), mode='bilinear', align_corners=False)
    return (matte[0, 0].numpy() * 255).astype('uint8')


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    folder = tempfile.mkdtemp()
    for i, (h, w) in enumerate([(448, 320), (600, 800), (427, 640)]):
        arr = rng.integers(0, 255, size=(h, w, 3), dtype=np.uint8)
        Image.fromarray(arr).save(os.path.join(folder, 'pet_%02d.png' % i))

    model = GlanceFocusMatting().eval()
    for name in sorted(os.listdir(folder)):
        matte = infer(model, os.path.join(folder, name))
        print(name, matte.shape, 'mean alpha %.1f' % matte.mean())


if __name__ == '__main__':
    main()
