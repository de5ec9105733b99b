import argparse

import numpy as np
import torch
import torch.nn as nn
from torchvision import models, transforms

parser = argparse.ArgumentParser(description="extract reference features and predict disparity")
parser.add_argument("--num-images", type=int, default=6)
parser.add_argument("--height", type=int, default=96)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--num-depths", type=int, default=16)
parser.add_argument("--iters", type=int, default=10)
args = parser.parse_args()

torch.manual_seed(0)
rng = np.random.RandomState(0)


def load_scene(n, h, w):
    """list of (image H x W x 3 in [0, 1], disparity H x W) pairs"""
    scene = []
    for _ in range(n):
        disp = np.zeros((h, w), dtype=np.float32)
        img = np.ones((h, w, 3), dtype=np.float32) * rng.rand(3)
        for level in range(1, args.num_depths):
            y, x = rng.randint(0, h - 20), rng.randint(0, w - 20)
            disp[y:y + 20, x:x + 20] = level
            img[y:y + 20, x:x + 20] = rng.rand(3) * level / args.num_depths
        scene.append((np.clip(img + rng.normal(0, 0.02, img.shape), 0, 1).astype(np.float32), disp))
    return scene


class DisparityHead(nn.Module):
    def __init__(self, in_channels, num_depths):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(in_channels, 64, 3, padding=1),
            nn.SELU(inplace=True),
            nn.Conv2d(64, num_depths, 3, padding=1),
        )
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)

    def forward(self, x):
        return self.up(self.net(x))


print("Creating VGG model...")
vgg = models.vgg16(weights=None).features[:9].eval()
for p in vgg.parameters():
    p.requires_grad_(False)
vgg_normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])

head = DisparityHead(128, args.num_depths)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

scene = load_scene(args.num_images, args.height, args.width)
features, targets = [], []
for index, (img, disp) in enumerate(scene):
    print("Start working on image {}/{}.".format(index, len(scene)))
    img_tensor = vgg_normalize(torch.FloatTensor(img).permute(2, 0, 1)).unsqueeze(0)
    with torch.no_grad():
        features.append(vgg(img_tensor))
    targets.append(torch.from_numpy(disp).long().unsqueeze(0))

for it in range(args.iters):
    losses = []
    for feat, target in zip(features, targets):
        loss = criterion(head(feat), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("iteration {}: loss {:.4f}".format(it, np.mean(losses)))

with torch.no_grad():
    correct = [(head(f).argmax(1) == t).float().mean().item() for f, t in zip(features, targets)]
print("pixel accuracy {:.3f}".format(np.mean(correct)))
