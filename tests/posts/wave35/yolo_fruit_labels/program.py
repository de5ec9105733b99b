import os
import random
import tempfile

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset

CLASSES = ["apple", "banana", "orange"]
S, B, C = 7, 2, len(CLASSES)


class FruitDataset(Dataset):
    def __init__(self, csv_file, img_dir, label_dir, S=7, B=2, C=20, transform=None):
        self.annotations = pd.read_csv(csv_file)
        self.img_dir = img_dir
        self.label_dir = label_dir
        self.transform = transform
        self.S, self.B, self.C = S, B, C

    def __len__(self):
        return len(self.annotations)

    def __getitem__(self, index):
        boxes = []
        with open(os.path.join(self.label_dir, self.annotations.iloc[index, 1])) as f:
            for line in f.readlines():
                cls, x, y, w, h = line.split()
                boxes.append([int(cls), float(x), float(y), float(w), float(h)])
        image = Image.open(os.path.join(self.img_dir, self.annotations.iloc[index, 0])).convert("RGB")
        boxes = torch.tensor(boxes)
        if self.transform:
            image, boxes = self.transform(image, boxes)

        label_matrix = torch.zeros((self.S, self.S, self.C + 5 * self.B))
        for box in boxes:
            class_label, x, y, width, height = box.tolist()
            class_label = int(class_label)
            i, j = int(self.S * y), int(self.S * x)
            x_cell, y_cell = self.S * x - j, self.S * y - i
            width_cell, height_cell = width * self.S, height * self.S
            if label_matrix[i, j, 20] == 0:
                label_matrix[i, j, 20] = 1
                box_coordinates = torch.tensor([x_cell, y_cell, width_cell, height_cell])
                label_matrix[i, j, 21:25] = box_coordinates
                label_matrix[i, j, class_label] = 1
        return image, label_matrix


class TinyYolo(nn.Module):
    def __init__(self, S, B, C):
        super().__init__()
        self.S, self.B, self.C = S, B, C
        layers, c_in = [], 3
        for c_out in (16, 32, 64):
            layers += [nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out),
                       nn.LeakyReLU(0.1), nn.MaxPool2d(2)]
            c_in = c_out
        self.darknet = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(S))
        self.head = nn.Conv2d(c_in, C + 5 * B, 1)

    def forward(self, x):
        return self.head(self.darknet(x)).permute(0, 2, 3, 1)


def yolo_loss(pred, target, C, lambda_coord=5.0, lambda_noobj=0.5):
    exists = target[..., C:C + 1]
    box = ((exists * (pred[..., C + 1:C + 5] - target[..., C + 1:C + 5])) ** 2).sum()
    obj = ((exists * (pred[..., C:C + 1] - 1)) ** 2).sum()
    noobj = (((1 - exists) * pred[..., C:C + 1]) ** 2).sum()
    cls = ((exists * (pred[..., :C] - target[..., :C])) ** 2).sum()
    return (lambda_coord * box + obj + lambda_noobj * noobj + cls) / pred.size(0)


def to_tensor(image, boxes):
    array = np.asarray(image, dtype=np.float32) / 255.0
    return torch.from_numpy(array).permute(2, 0, 1), boxes


def write_fruits(root, n, size=112):
    os.makedirs(os.path.join(root, "images"))
    os.makedirs(os.path.join(root, "labels"))
    colours = [(200, 30, 30), (220, 210, 40), (240, 140, 20)]
    rows = []
    for k in range(n):
        canvas = np.full((size, size, 3), 120, dtype=np.uint8)
        lines = []
        for _ in range(random.randint(1, 3)):
            cls = random.randrange(C)
            w, h = random.uniform(0.15, 0.3), random.uniform(0.15, 0.3)
            x, y = random.uniform(w / 2, 1 - w / 2), random.uniform(h / 2, 1 - h / 2)
            canvas[int((y - h / 2) * size):int((y + h / 2) * size),
                   int((x - w / 2) * size):int((x + w / 2) * size)] = colours[cls]
            lines.append("%d %.5f %.5f %.5f %.5f" % (cls, x, y, w, h))
        Image.fromarray(canvas).save(os.path.join(root, "images", "%03d.png" % k))
        with open(os.path.join(root, "labels", "%03d.txt" % k), "w") as f:
            f.write("\n".join(lines))
        rows.append(("%03d.png" % k, "%03d.txt" % k))
    pd.DataFrame(rows, columns=["img", "text"]).to_csv(os.path.join(root, "train.csv"), index=False)


def main():
    random.seed(123)
    torch.manual_seed(123)
    with tempfile.TemporaryDirectory() as root:
        write_fruits(root, 48)
        dataset = FruitDataset(os.path.join(root, "train.csv"), os.path.join(root, "images"),
                               os.path.join(root, "labels"), S=S, B=B, C=C, transform=to_tensor)
        loader = DataLoader(dataset, batch_size=8, shuffle=True, drop_last=True)
        model = TinyYolo(S, B, C)
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        for epoch in range(4):
            losses = []
            for x, y in loader:
                loss = yolo_loss(model(x), y, C)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            print(f"epoch {epoch} mean loss {sum(losses) / len(losses):.3f}")


if __name__ == "__main__":
    main()
