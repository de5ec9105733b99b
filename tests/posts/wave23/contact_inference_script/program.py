import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import Normalize

PARTS = ["left hand", "right hand", "left foot", "right foot"]
CORNERS = [(4, 4), (4, 20), (20, 4), (20, 20)]
normalize_img = Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])


def render(seed):
    """A photo in which a lighter patch stands for each part in contact."""
    rng = np.random.default_rng(seed)
    image = rng.integers(90, 130, size=(32, 32, 3), dtype=np.uint8)
    contact = rng.integers(0, 2, size=len(PARTS))
    for (top, left), touch in zip(CORNERS, contact):
        if touch:
            image[top:top + 8, left:left + 8] += 25
    return image, contact.astype(np.float32)


class ContactDataset(Dataset):
    def __init__(self, first, count):
        self.first, self.count = first, count

    def __len__(self):
        return self.count

    def __getitem__(self, idx):
        image, contact = render(self.first + idx)
        img = torch.tensor(image.transpose(2, 0, 1) / 255.0, dtype=torch.float32)
        img = normalize_img(img)
        return img, torch.from_numpy(contact)


class ContactNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.head = nn.Linear(16 * 8 * 8, len(PARTS))

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def train(model, device, epochs=8):
    loader = DataLoader(ContactDataset(0, 512), batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss()
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for img, contact in loader:
            img, contact = img.to(device), contact.to(device)
            optimizer.zero_grad()
            loss = criterion(model(img), contact)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(img)
        print(f"epoch {epoch + 1}: loss {total / len(loader.dataset):.4f}")


@torch.no_grad()
def infer(model, image, device):
    model.eval()
    img = image.transpose(2, 0, 1) / 255.0
    img = torch.tensor(img, dtype=torch.float32)
    img = img.unsqueeze(0).to(device)
    return torch.sigmoid(model(img))[0].cpu().numpy()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = ContactNet().to(device)
    train(model, device)

    hits = 0
    for seed in range(10_000, 10_100):
        image, contact = render(seed)
        scores = infer(model, image, device)
        hits += int(((scores > 0.5) == (contact > 0.5)).sum())
    print("new photos: share of right parts", hits / (100 * len(PARTS)))
    print(dict(zip(PARTS, scores.round(2).tolist())), "true", contact.tolist())


if __name__ == "__main__":
    main()
