import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet18

SIZE_TEST = [192, 64]
PIXEL_MEAN = [0.485, 0.456, 0.406]
PIXEL_STD = [0.229, 0.224, 0.225]


class Baseline(nn.Module):
    def __init__(self, num_classes, feat_dim=512):
        super(Baseline, self).__init__()
        net = resnet18(weights=None)
        net.layer4[0].conv1.stride = (1, 1)
        net.layer4[0].downsample[0].stride = (1, 1)
        self.base = nn.Sequential(*list(net.children())[:-2])
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.bottleneck = nn.BatchNorm1d(feat_dim)
        self.bottleneck.bias.requires_grad_(False)
        self.classifier = nn.Linear(feat_dim, num_classes, bias=False)

    def forward(self, x):
        global_feat = self.gap(self.base(x))
        global_feat = global_feat.view(global_feat.shape[0], -1)
        feat = self.bottleneck(global_feat)
        if self.training:
            return self.classifier(feat), global_feat
        return feat

    def load_param(self, path):
        self.load_state_dict(torch.load(path, map_location="cpu"))


def build_transforms():
    return T.Compose([T.Resize(SIZE_TEST), T.ToTensor(), T.Normalize(mean=PIXEL_MEAN, std=PIXEL_STD)])


class PersonImages(Dataset):
    def __init__(self, root, transform):
        self.files = sorted(os.path.join(root, f) for f in os.listdir(root) if f.endswith(".jpg"))
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = Image.open(self.files[i]).convert("RGB")
        pid = int(os.path.basename(self.files[i]).split("_")[0])
        return self.transform(img), pid


def write_market(root, ids=4, per_id=4):
    rng = np.random.RandomState(0)
    for pid in range(ids):
        look = rng.randint(0, 255, (16, 8, 3))
        for cam in range(per_id):
            img = np.clip(look + rng.randint(-30, 30, look.shape), 0, 255).astype("uint8")
            Image.fromarray(img).resize((64, 128)).save(os.path.join(root, "%04d_c%d.jpg" % (pid, cam)))


def train(root, weights):
    loader = DataLoader(PersonImages(root, build_transforms()), batch_size=8, shuffle=True)
    model = Baseline(num_classes=4)
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=3.5e-4)
    model.train()
    for epoch in range(2):
        for imgs, pids in loader:
            score, _ = model(imgs)
            loss = nn.functional.cross_entropy(score, pids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())
    torch.save(model.state_dict(), weights)


def demo(img_path, weights):
    transform = build_transforms()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Baseline(num_classes=4)
    model.load_param(weights)
    model.to(device)
    model.eval()
    img = Image.open(img_path).convert("RGB")
    data = transform(img)
    with torch.no_grad():
        feat = model(data.to(device))
    return feat


if __name__ == "__main__":
    torch.manual_seed(0)
    root = tempfile.mkdtemp()
    write_market(root)
    weights = os.path.join(root, "baseline.pth")
    train(root, weights)
    feat = demo(os.path.join(root, "0001_c2.jpg"), weights)
    print(feat.shape, feat.norm().item())
