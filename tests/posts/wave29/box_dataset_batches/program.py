import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 4
IMG = 48


class StreetBoxes(Dataset):
    """One image with all of its annotated boxes (x1, y1, x2, y2) and their classes."""

    def __init__(self, num_images, seed=0):
        rng = np.random.default_rng(seed)
        self.records = []
        for k in range(num_images):
            count = int(rng.integers(1, 7))
            corner = rng.uniform(0, 28, size=(count, 2))
            label = rng.integers(0, NUM_CLASSES, size=count)
            side = 4.0 + 4.0 * label[:, None] + rng.uniform(0, 2, size=(count, 2))
            bbox = np.concatenate([corner, corner + side], axis=1).astype(np.float32)
            self.records.append((f"street_{k:04d}.png", bbox, label.astype(np.int64)))

    def __len__(self):
        return len(self.records)

    def __getitem__(self, idx):
        filename, bbox, label = self.records[idx]
        image = torch.zeros(3, IMG, IMG)
        for x1, y1, x2, y2 in bbox.astype(int):
            image[:, y1:y2, x1:x2] += 0.5
        return {
            "image": image,
            "bbox": torch.from_numpy(bbox) / IMG,
            "label": torch.from_numpy(label),
            "filename": filename,
        }


class BoxClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 5, stride=4)
        self.box_fc = nn.Linear(4, 32)
        self.img_fc = nn.Linear(8, 32)
        self.cls = nn.Linear(32, NUM_CLASSES)

    def forward(self, image, bbox):
        ctx = F.relu(self.conv(image)).mean(dim=(2, 3))
        feat = F.relu(self.box_fc(bbox) + self.img_fc(ctx)[:, None, :])
        return self.cls(feat)


def train():
    torch.manual_seed(0)
    dataset = StreetBoxes(120)
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    model = BoxClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss(ignore_index=-1)

    for epoch in range(5):
        total = 0.0
        for batch in loader:
            scores = model(batch["image"], batch["bbox"])
            loss = criterion(scores.flatten(0, 1), batch["label"].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}  last file {batch['filename'][-1]}")


if __name__ == "__main__":
    train()
