import random

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection import ssdlite320_mobilenet_v3_large


def make_annotations(n_images, size, seed=0):
    rnd = random.Random(seed)
    annotations = []
    for image_id in range(n_images):
        objects = []
        for _ in range(rnd.randint(1, 3)):
            w, h = rnd.randint(20, 40), rnd.randint(20, 40)
            x, y = rnd.randint(0, size - w), rnd.randint(0, size - h)
            objects.append({"bbox": [x, y, w, h], "category_id": rnd.randint(1, 2)})
        annotations.append({"image_id": image_id, "objects": objects})
    return annotations


class ShapesDataset(Dataset):
    def __init__(self, n_images=8, size=128):
        self.size = size
        self.annotations = make_annotations(n_images, size)

    def __len__(self):
        return len(self.annotations)

    def __getitem__(self, idx):
        record = self.annotations[idx]
        image = torch.rand(3, self.size, self.size) * 0.2
        for obj in record["objects"]:
            x, y, w, h = obj["bbox"]
            image[obj["category_id"], y:y + h, x:x + w] = 1.0
        boxes = torch.tensor([o["bbox"] for o in record["objects"]], dtype=torch.float32)
        labels = torch.tensor([o["category_id"] for o in record["objects"]])
        target = {
            "boxes": boxes,
            "labels": labels,
            "image_id": torch.tensor([record["image_id"]]),
        }
        return image, target


def collate_fn(batch):
    return tuple(zip(*batch))


def main():
    torch.manual_seed(0)
    loader = DataLoader(ShapesDataset(), batch_size=2, shuffle=True, collate_fn=collate_fn)
    model = ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=3
    )
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.002, momentum=0.9)

    model.train()
    for epoch in range(2):
        for images, targets in loader:
            loss_dict = model(list(images), list(targets))
            loss = sum(loss_dict.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: " + ", ".join(f"{k} {v.item():.3f}" for k, v in loss_dict.items()))


if __name__ == "__main__":
    main()
