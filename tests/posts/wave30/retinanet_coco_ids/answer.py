import json
import os
import random
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

NUM_CLASSES = 90
NUM_ANCHORS = 3
GRID = 8
SIZE = 64


def one_hot_embedding(labels, num_classes):
    y = torch.eye(num_classes)
    return y[labels]


class CocoBoxes(Dataset):
    def __init__(self, root, ann_file):
        with open(os.path.join(root, ann_file)) as f:
            coco = json.load(f)
        self.ids = [im["id"] for im in coco["images"]]
        self.by_image = {i: [] for i in self.ids}
        for ann in coco["annotations"]:
            self.by_image[ann["image_id"]].append((ann["bbox"], ann["category_id"]))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        torch.manual_seed(self.ids[i])
        img = torch.rand(3, SIZE, SIZE)
        cls_t = torch.zeros(GRID, GRID, NUM_ANCHORS, dtype=torch.long)
        loc_t = torch.zeros(GRID, GRID, NUM_ANCHORS, 4)
        cell = SIZE // GRID
        for (x, y, w, h), cat in self.by_image[self.ids[i]]:
            gx, gy = int((x + w / 2) // cell), int((y + h / 2) // cell)
            cls_t[gy, gx] = cat
            loc_t[gy, gx] = torch.tensor([x, y, w, h]) / SIZE
        return img, loc_t.view(-1, 4), cls_t.view(-1)


class SmallRetina(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.num_classes = num_classes
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
        )
        self.loc_head = nn.Conv2d(64, NUM_ANCHORS * 4, 3, padding=1)
        self.cls_head = nn.Conv2d(64, NUM_ANCHORS * num_classes, 3, padding=1)

    def forward(self, x):
        f = self.backbone(x)
        loc = self.loc_head(f).permute(0, 2, 3, 1).reshape(x.size(0), -1, 4)
        cls = self.cls_head(f).permute(0, 2, 3, 1).reshape(x.size(0), -1, self.num_classes)
        return loc, cls


class FocalLoss(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.num_classes = num_classes

    def focal(self, x, y, alpha=0.25, gamma=2):
        t = one_hot_embedding(y, 1 + self.num_classes)
        t = t[:, 1:]
        p = x.sigmoid().detach()
        pt = p * t + (1 - p) * (1 - t)
        w = (alpha * t + (1 - alpha) * (1 - t)) * (1 - pt).pow(gamma)
        return F.binary_cross_entropy_with_logits(x, t, w, reduction="sum")

    def forward(self, loc_p, loc_t, cls_p, cls_t):
        pos = cls_t > 0
        loc_loss = F.smooth_l1_loss(loc_p[pos], loc_t[pos], reduction="sum")
        cls_loss = self.focal(cls_p.view(-1, self.num_classes), cls_t.view(-1))
        n = pos.sum().clamp(min=1)
        return (loc_loss + cls_loss) / n


def write_annotations(root, n_images=24):
    rnd = random.Random(17)
    missing = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
    cats = [c for c in range(1, 91) if c not in missing]
    images = [{"id": i + 1, "file_name": f"{i + 1:012d}.jpg"} for i in range(n_images)]
    anns = []
    for im in images:
        for _ in range(rnd.randint(1, 5)):
            x, y = rnd.uniform(0, 40), rnd.uniform(0, 40)
            anns.append({"image_id": im["id"], "bbox": [x, y, rnd.uniform(6, 22), rnd.uniform(6, 22)],
                         "category_id": rnd.choice(cats)})
    with open(os.path.join(root, "instances_train2017.json"), "w") as f:
        json.dump({"images": images, "annotations": anns, "categories": [{"id": c} for c in cats]}, f)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as root:
        write_annotations(root)
        loader = DataLoader(CocoBoxes(root, "instances_train2017.json"), batch_size=8)
        net = SmallRetina(NUM_CLASSES)
        criterion = FocalLoss(NUM_CLASSES)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
        for epoch in range(2):
            net.train()
            for img, loc_t, cls_t in loader:
                optimizer.zero_grad()
                loc_p, cls_p = net(img)
                loss = criterion(loc_p, loc_t, cls_p, cls_t)
                loss.backward()
                optimizer.step()
                print("epoch %d loss %.3f" % (epoch, loss.item()))
