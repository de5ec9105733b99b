import torch
from torch.utils.data import Dataset, DataLoader
from torchvision.models.detection import ssdlite320_mobilenet_v3_large

torch.manual_seed(0)


class CellsDataset(Dataset):
    """Synthetic microscope images with annotated cells."""

    def __init__(self, n=6, size=160):
        self.size = size
        self.images = torch.rand(n, 3, size, size) * 0.3
        self.annotations = []
        for k in range(n):
            anns = []
            for _ in range(3):
                w, h = torch.randint(24, 48, (2,)).tolist()
                x = torch.randint(0, size - w, (1,)).item()
                y = torch.randint(0, size - h, (1,)).item()
                self.images[k, 0, y:y + h, x:x + w] += 0.6
                anns.append({"bbox": [x, y, w, h], "category_id": 1, "area": w * h, "iscrowd": 0})
            self.annotations.append(anns)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        anns = self.annotations[idx]
        boxes = torch.tensor([a["bbox"] for a in anns], dtype=torch.float32)
        target = {
            "boxes": boxes,
            "labels": torch.tensor([a["category_id"] for a in anns], dtype=torch.int64),
            "image_id": torch.tensor([idx]),
            "area": torch.tensor([a["area"] for a in anns], dtype=torch.float32),
            "iscrowd": torch.tensor([a["iscrowd"] for a in anns], dtype=torch.int64),
        }
        return self.images[idx], target


def collate_fn(batch):
    return tuple(zip(*batch))


def train_one_epoch(model, optimizer, loader, epoch):
    model.train()
    for images, targets in loader:
        loss_dict = model(list(images), list(targets))
        losses = sum(loss for loss in loss_dict.values())
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {losses.item():.4f}")


model = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=2)
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(params, lr=0.002, momentum=0.9, weight_decay=5e-4)
loader = DataLoader(CellsDataset(), batch_size=2, shuffle=True, collate_fn=collate_fn)
for epoch in range(2):
    train_one_epoch(model, optimizer, loader, epoch)
