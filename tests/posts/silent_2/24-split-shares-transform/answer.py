import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset


class Compose:
    def __init__(self, *ops):
        self.ops = ops

    def __call__(self, img):
        for op in self.ops:
            img = op(img)
        return img


def random_hflip(img):
    return img.flip(-1) if torch.rand(1).item() < 0.5 else img


def random_crop(img, pad=2):
    c, h, w = img.shape
    img = nn.functional.pad(img, (pad, pad, pad, pad))
    top, left = torch.randint(0, 2 * pad + 1, (2,)).tolist()
    return img[:, top:top + h, left:left + w]


def normalize(img):
    return (img - 0.5) / 0.25


class LeafImages(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.labels[i]


train_tf = Compose(random_hflip, random_crop, normalize)
val_tf = Compose(normalize)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, labels = torch.rand(400, 3, 20, 20), torch.randint(0, 6, (400,))
    order = torch.randperm(400).tolist()
    train_set = Subset(LeafImages(images, labels, train_tf), order[:320])
    val_set = Subset(LeafImages(images, labels, val_tf), order[320:])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=32)

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(128, 6),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(4):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for x, y in val_loader:
                hits += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        print(f"epoch {epoch} train loss {loss.item():.4f} val acc {hits / len(val_set):.3f}")


if __name__ == "__main__":
    main()
