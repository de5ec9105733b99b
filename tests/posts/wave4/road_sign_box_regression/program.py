import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class RoadSignDataset(Dataset):
    """Street photos with the boxes (x1, y1, x2, y2) of the signs in them."""

    def __init__(self, n=22, size=128, seed=3):
        g = torch.Generator().manual_seed(seed)
        self.images, self.boxes = [], []
        for i in range(n):
            k = int(torch.randint(1, 5, (1,), generator=g))
            xy = torch.rand(k, 2, generator=g) * size * 0.6
            wh = torch.rand(k, 2, generator=g) * size * 0.4
            self.images.append(torch.rand(3, size, size, generator=g))
            self.boxes.append(torch.cat([xy, xy + wh], dim=1))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return self.images[idx], self.boxes[idx] / 128.0


def detection_batch(samples):
    images = torch.stack([s[0] for s in samples])
    boxes = [s[1] for s in samples]
    return images, boxes


class BoxNet(nn.Module):
    def __init__(self, max_boxes=4):
        super().__init__()
        self.max_boxes = max_boxes
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.head = nn.Linear(32 * 16, max_boxes * 4)

    def forward(self, x):
        return self.head(self.body(x)).view(-1, self.max_boxes, 4).sigmoid()


def box_loss(pred, boxes):
    loss = 0
    for p, b in zip(pred, boxes):
        dist = torch.cdist(p, b, p=1)
        loss = loss + dist.min(dim=0).values.mean()
    return loss / len(boxes)


train_loader = DataLoader(RoadSignDataset(), batch_size=8, shuffle=True)
model = BoxNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(3):
    total = 0.0
    for images, boxes in train_loader:
        optimizer.zero_grad()
        loss = box_loss(model(images), boxes)
        loss.backward()
        optimizer.step()
        total += loss.item() * images.size(0)
    print('epoch %d loss %.4f' % (epoch, total / len(train_loader.dataset)))
