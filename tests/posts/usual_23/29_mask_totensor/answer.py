import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.transforms import InterpolationMode

NUM_CLASSES = 3  # background, organ, tumor


def make_case(rng, size=80):
    mask = np.zeros((size, size), dtype=np.uint8)
    y, x = rng.integers(10, 40, size=2)
    mask[y : y + 28, x : x + 28] = 1
    mask[y + 8 : y + 18, x + 8 : x + 18] = 2
    image = rng.normal(60, 12, size=(size, size)) + 60 * mask
    return Image.fromarray(image.clip(0, 255).astype(np.uint8)), Image.fromarray(mask)


class ScanDataset(Dataset):
    def __init__(self, n, seed=0, size=64):
        rng = np.random.default_rng(seed)
        self.cases = [make_case(rng) for _ in range(n)]
        self.image_tf = transforms.Compose([
            transforms.Resize((size, size)),
            transforms.ToTensor(),
            transforms.Normalize([0.3], [0.15]),
        ])
        self.mask_tf = transforms.Compose([
            transforms.Resize((size, size), interpolation=InterpolationMode.NEAREST),
            transforms.PILToTensor(),
        ])

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, i):
        image, mask = self.cases[i]
        return self.image_tf(image), self.mask_tf(mask).squeeze(0).long()


def block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU())


class TinyUNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.enc1, self.enc2 = block(1, 16), block(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.dec = block(32, 16)
        self.head = nn.Conv2d(16, num_classes, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        return self.head(self.dec(torch.cat([self.up(e2), e1], dim=1)))


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(ScanDataset(48), batch_size=8, shuffle=True)
    val_loader = DataLoader(ScanDataset(16, seed=1), batch_size=8)
    model = TinyUNet(NUM_CLASSES)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(6):
        model.train()
        for image, mask in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(image), mask)
            loss.backward()
            optimizer.step()

        model.eval()
        correct, pixels, found = 0, 0, torch.zeros(NUM_CLASSES, dtype=torch.long)
        with torch.no_grad():
            for image, mask in val_loader:
                pred = model(image).argmax(dim=1)
                correct += (pred == mask).sum().item()
                pixels += mask.numel()
                found += torch.bincount(pred.flatten(), minlength=NUM_CLASSES)
        print(f"epoch {epoch} loss {loss.item():.4f} pixel acc {correct / pixels:.4f} predicted {found.tolist()}")


if __name__ == "__main__":
    main()
