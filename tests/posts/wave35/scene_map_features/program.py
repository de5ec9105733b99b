import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torchvision.transforms as T
from PIL import Image
import numpy as np
from torch.utils.data import DataLoader, Dataset
from torchvision import models

parser = argparse.ArgumentParser(description="class activation maps for scene images")
parser.add_argument("--arch", default="resnet50")
parser.add_argument("--classes", type=int, default=15)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--out", default=None)
args = parser.parse_args()


class SceneFolder(Dataset):
    def __init__(self, root, transform):
        self.paths = sorted(os.path.join(root, f) for f in os.listdir(root) if f.endswith(".jpg"))
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        img = Image.open(self.paths[i]).convert("RGB")
        return self.transform(img), os.path.basename(self.paths[i])


def fake_scenes(root, n=8):
    rng = np.random.RandomState(0)
    for i in range(n):
        pixels = rng.randint(0, 255, (240, 260, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(os.path.join(root, "scene_%03d.jpg" % i))


def load_network():
    net = models.__dict__[args.arch](weights=None, num_classes=args.classes)
    net.eval()
    trunk = nn.Sequential(*list(net.children())[:-2])
    return trunk, net.fc


def main():
    torch.manual_seed(0)
    tmp = tempfile.mkdtemp()
    fake_scenes(tmp)
    tf = T.Compose([
        T.Resize((224, 224)),
        T.ToTensor(),
        T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    loader = DataLoader(SceneFolder(tmp, tf), batch_size=args.batch_size, shuffle=False)
    conv_net, linear_layer = load_network()
    class_weight = linear_layer.weight.data

    maps = {}
    with torch.no_grad():
        for imgs, names in loader:
            conv_maps = conv_net(imgs)
            pooled = nn.AvgPool2d(kernel_size=conv_maps.size(-1))(conv_maps).view(-1, 512)
            logits = linear_layer(pooled)
            prob, order = logits.softmax(1).sort(1, descending=True)
            for b, name in enumerate(names):
                w = class_weight[order[b, 0]]
                cam = torch.einsum("c,chw->hw", w, conv_maps[b])
                cam = (cam - cam.min()) / (cam.max() - cam.min() + 1e-8)
                maps[name] = cam.numpy()
                print(name, "class", int(order[b, 0]), "p %.3f" % prob[b, 0], "map", cam.shape)

    out = args.out or os.path.join(tmp, "dis_maps.npz")
    np.savez(out, **maps)
    print("wrote", len(maps), "maps to", out)


if __name__ == "__main__":
    main()
