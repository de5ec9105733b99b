import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

IMG_SIZE = 64


def draw_part(rng, defect):
    """Returns a synthetic product photo and, for a defect, its annotation image."""
    photo = rng.normal(120, 8, (96, 96, 3))
    if not defect:
        return Image.fromarray(photo.clip(0, 255).astype(np.uint8)), None
    top, left = rng.integers(8, 60, size=2)
    photo[top:top + 20, left:left + 20] += 70
    annotation = np.zeros((96, 96, 3), dtype=np.uint8)
    annotation[top:top + 20, left:left + 20] = 255
    return Image.fromarray(photo.clip(0, 255).astype(np.uint8)), Image.fromarray(annotation)


class InspectionDataset(Dataset):
    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = [int(i % 3 == 0) for i in range(n)]
        self.samples = [draw_part(rng, bool(label)) for label in self.labels]
        self.transform_img = transforms.Compose([
            transforms.Resize((IMG_SIZE, IMG_SIZE)),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ])
        self.transform_mask = transforms.Compose([
            transforms.Resize((IMG_SIZE, IMG_SIZE), interpolation=transforms.InterpolationMode.NEAREST),
            transforms.ToTensor(),
        ])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        image, annotation = self.samples[index]
        image = self.transform_img(image.convert("RGB"))
        if annotation is None:
            mask = torch.zeros([1, IMG_SIZE, IMG_SIZE])
        else:
            mask = self.transform_mask(annotation.convert("L"))
        return {"image": image, "mask": mask, "is_anomaly": self.labels[index]}


class PatchScorer(nn.Module):
    """Distance of every patch to the mean patch of the batch."""

    def __init__(self, patch=8):
        super().__init__()
        self.patch = patch

    def forward(self, images):
        patches = F.unfold(images, self.patch, stride=self.patch)
        centre = patches.mean(dim=(0, 2), keepdim=True)
        score = (patches - centre).pow(2).mean(dim=1).sqrt()
        side = images.size(-1) // self.patch
        score = score.view(-1, 1, side, side)
        return F.interpolate(score, size=images.shape[-2:], mode="bilinear", align_corners=False)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(InspectionDataset(24), batch_size=6, shuffle=False)
    scorer = PatchScorer().to(device).eval()

    overlap, area = 0.0, 0.0
    with torch.no_grad():
        for batch in loader:
            maps = scorer(batch["image"].to(device)).cpu()
            predicted = maps > 0.8
            truth = batch["mask"] > 0.5
            overlap += (predicted & truth).sum().item()
            area += (predicted | truth).sum().item()
    print(f"pixel IoU over {len(loader.dataset)} parts: {overlap / area:.3f}")


if __name__ == "__main__":
    main()
