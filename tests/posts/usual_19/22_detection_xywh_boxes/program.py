import random

import torch
from torch.utils.data import Dataset, DataLoader
from torchvision.models.detection import retinanet_resnet50_fpn

NUM_CLASSES = 3


def fake_annotations(n_images, size=128):
    rng = random.Random(3)
    annotations = {}
    for image_id in range(n_images):
        annotations[image_id] = [
            {
                "bbox": [rng.randint(50, 80), rng.randint(50, 80), rng.randint(20, 45), rng.randint(20, 45)],
                "category_id": rng.randint(1, NUM_CLASSES - 1),
            }
            for _ in range(rng.randint(1, 3))
        ]
    return annotations


class CocoLikeDataset(Dataset):
    def __init__(self, annotations, size=128):
        self.annotations = annotations
        self.ids = sorted(annotations)
        self.size = size

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, idx):
        image_id = self.ids[idx]
        image = torch.rand(3, self.size, self.size)
        anns = self.annotations[image_id]
        boxes = torch.tensor([a["bbox"] for a in anns], dtype=torch.float32)
        labels = torch.tensor([a["category_id"] for a in anns], dtype=torch.int64)
        target = {"boxes": boxes, "labels": labels, "image_id": torch.tensor([image_id])}
        return image, target


def collate_fn(batch):
    return tuple(zip(*batch))


def main():
    torch.manual_seed(0)
    dataset = CocoLikeDataset(fake_annotations(6))
    loader = DataLoader(dataset, batch_size=2, shuffle=True, collate_fn=collate_fn)
    model = retinanet_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=NUM_CLASSES, min_size=128, max_size=128
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    model.train()
    for images, targets in loader:
        loss_dict = model(list(images), list(targets))
        loss = sum(loss_dict.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print({k: round(v.item(), 3) for k, v in loss_dict.items()})


if __name__ == "__main__":
    main()
