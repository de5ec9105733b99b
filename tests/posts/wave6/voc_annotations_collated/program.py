import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
CLASSES = ["cat", "dog", "car", "person"]


class VOCDetection(Dataset):
    def __init__(self, num=24, size=64):
        self.items = []
        for i in range(num):
            objects = [self.random_object(size) for _ in range(1 + i % 3)]
            annotation = {
                "folder": "VOC2012",
                "filename": "%06d.jpg" % i,
                "size": {"width": str(size), "height": str(size), "depth": "3"},
                "object": objects[0] if len(objects) == 1 else objects,
            }
            self.items.append((torch.rand(3, size, size), {"annotation": annotation}))

    @staticmethod
    def random_object(size):
        x, y = torch.randint(0, size // 2, (2,)).tolist()
        w, h = torch.randint(8, size // 2, (2,)).tolist()
        name = CLASSES[torch.randint(0, len(CLASSES), (1,)).item()]
        return {"name": name, "bndbox": {"xmin": str(x), "ymin": str(y), "xmax": str(x + w), "ymax": str(y + h)}}

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class MultiLabelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.classifier = nn.Linear(32, len(CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x))


def presence(annotations):
    target = torch.zeros(len(annotations["object"]), len(CLASSES))
    for row, objects in enumerate(annotations["object"]):
        for obj in objects:
            target[row, CLASSES.index(obj["name"])] = 1.0
    return target


loader = DataLoader(VOCDetection(), batch_size=4)
model = MultiLabelNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for images, targets in loader:
        logits = model(images)
        loss = F.binary_cross_entropy_with_logits(logits, presence(targets["annotation"]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
