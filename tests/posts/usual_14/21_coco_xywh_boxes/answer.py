"""Fine-tune a torchvision detector on annotations in COCO format (tiny synthetic bottle caps)."""
import json
import random
import tempfile
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection import ssdlite320_mobilenet_v3_large
from torchvision.transforms.functional import to_tensor

CATEGORIES = [{"id": 1, "name": "cap"}, {"id": 2, "name": "cork"}]


def write_coco(root: Path, n_images: int):
    rnd = random.Random(4)
    coco = {"images": [], "annotations": [], "categories": CATEGORIES}
    for i in range(n_images):
        img = Image.new("RGB", (128, 128), (rnd.randint(0, 60),) * 3)
        draw = ImageDraw.Draw(img)
        for _ in range(rnd.randint(1, 3)):
            w, h = rnd.randint(18, 40), rnd.randint(18, 40)
            x, y = rnd.randint(0, 127 - w), rnd.randint(0, 127 - h)
            cat = rnd.choice([1, 2])
            (draw.ellipse if cat == 1 else draw.rectangle)([x, y, x + w, y + h], fill=(200, 60 * cat, 40))
            coco["annotations"].append({
                "id": len(coco["annotations"]), "image_id": i, "category_id": cat,
                "bbox": [x, y, w, h], "area": w * h, "iscrowd": 0,
            })
        img.save(root / f"{i:04d}.png")
        coco["images"].append({"id": i, "file_name": f"{i:04d}.png", "width": 128, "height": 128})
    (root / "annotations.json").write_text(json.dumps(coco))


class CocoCaps(Dataset):
    def __init__(self, root: Path):
        self.root = root
        data = json.loads((root / "annotations.json").read_text())
        self.images = data["images"]
        self.by_image = {im["id"]: [] for im in self.images}
        for ann in data["annotations"]:
            self.by_image[ann["image_id"]].append(ann)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        info = self.images[idx]
        image = to_tensor(Image.open(self.root / info["file_name"]).convert("RGB"))
        anns = [a for a in self.by_image[info["id"]] if not a["iscrowd"]]
        boxes = torch.tensor([a["bbox"] for a in anns], dtype=torch.float32)
        boxes[:, 2:] += boxes[:, :2]
        labels = torch.tensor([a["category_id"] for a in anns], dtype=torch.int64)
        target = {"boxes": boxes, "labels": labels, "image_id": info["id"]}
        return image, target


def collate(batch):
    return tuple(zip(*batch))


def main():
    torch.manual_seed(0)
    root = Path(tempfile.mkdtemp(prefix="caps_"))
    write_coco(root, 40)
    loader = DataLoader(CocoCaps(root), batch_size=8, shuffle=True, collate_fn=collate)

    model = ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=len(CATEGORIES) + 1
    )
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4)

    for epoch in range(2):
        model.train()
        sums = {}
        for images, targets in loader:
            losses = model(list(images), list(targets))
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(params, 10.0)
            optimizer.step()
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value.item() / len(loader)
        print(f"epoch {epoch}", ", ".join(f"{k} {v:.3f}" for k, v in sums.items()))
    torch.save({"model": model.state_dict(), "categories": CATEGORIES}, root / "detector.pt")


if __name__ == "__main__":
    main()
