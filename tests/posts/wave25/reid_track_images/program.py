import random

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

transform_train = transforms.Compose([
    transforms.Resize((72, 72)),
    transforms.RandomCrop((64, 64)),
    transforms.RandomHorizontalFlip(),
    transforms.ColorJitter(0.2, 0.2),
])


def fake_frame():
    return Image.fromarray(np.random.randint(0, 255, (90, 120, 3), dtype=np.uint8))


class CityFlowTracks(Dataset):
    """One crop of a vehicle track with a bag of words of its description."""

    def __init__(self, n_tracks=40, vocab=50, transform=None):
        self.transform = transform
        self.tracks = []
        for k in range(n_tracks):
            self.tracks.append({
                "frames": [fake_frame() for _ in range(3)],
                "box": (10, 10, 100, 80),
                "text": torch.bincount(torch.randint(0, vocab, (12,)), minlength=vocab).float(),
                "id": k % 8,
            })

    def __len__(self):
        return len(self.tracks)

    def __getitem__(self, index):
        track = self.tracks[index]
        crop = random.choice(track["frames"]).crop(track["box"])
        if self.transform is not None:
            crop = self.transform(crop)
        return crop, track["text"], track["id"]


class TwoTower(nn.Module):
    def __init__(self, vocab=50, dim=32, n_ids=8):
        super().__init__()
        self.visual = nn.Sequential(
            nn.Conv2d(3, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, dim, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.text = nn.Sequential(nn.Linear(vocab, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.classifier = nn.Linear(2 * dim, n_ids)

    def forward(self, image, text):
        return self.classifier(torch.cat([self.visual(image), self.text(text)], dim=1))


def main():
    dataset = CityFlowTracks(transform=transform_train)
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    model = TwoTower().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        total = 0.0
        for image, text, track_id in loader:
            image, text, track_id = image.to(device), text.to(device), track_id.to(device)
            loss = criterion(model(image, text), track_id)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d loss %.4f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    main()
