import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models import resnet18

KINDS = ["boletus", "amanita", "chanterelle", "morel"]


class MushroomImages(Dataset):
    def __init__(self, n, transform=None, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.kinds = torch.randint(len(KINDS), (n,), generator=g)
        tint = torch.tensor([[0.5, 0.3, 0.2], [0.8, 0.1, 0.1], [0.9, 0.7, 0.1], [0.3, 0.3, 0.2]])
        noise = torch.rand(n, 3, 72, 72, generator=g)
        self.images = 0.5 * noise + 0.5 * tint[self.kinds].view(n, 3, 1, 1)
        self.transform = transform

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        image = self.images[i]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.kinds[i]


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


def build_model(num_classes):
    resnet = resnet18(weights=None)
    resnet.fc = nn.Linear(resnet.fc.in_features, num_classes)
    freeze(resnet)
    return resnet


def describe(model):
    total = sum(p.numel() for p in model.parameters())
    print(f"{type(model).__name__}: {total / 1e6:.1f} M parameters")


def train_one_epoch(model, loader, criterion, optimizer, device):
    model.train()
    running, seen = 0.0, 0
    for images, kinds in loader:
        images, kinds = images.to(device), kinds.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, kinds)
        loss.backward()
        optimizer.step()
        running += loss.item() * images.size(0)
        seen += images.size(0)
    return running / seen


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hits = 0
    for images, kinds in loader:
        outputs = model(images.to(device))
        hits += (outputs.argmax(1).cpu() == kinds).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    train_tf = transforms.Compose([transforms.RandomCrop(64), transforms.RandomHorizontalFlip(), normalize])
    test_tf = transforms.Compose([transforms.CenterCrop(64), normalize])
    train_loader = DataLoader(MushroomImages(96, train_tf), batch_size=16, shuffle=True)
    test_loader = DataLoader(MushroomImages(48, test_tf, seed=1), batch_size=16)

    model = build_model(len(KINDS)).to(device)
    describe(model)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.fc.parameters(), lr=1e-3)
    for epoch in range(3):
        loss = train_one_epoch(model, train_loader, criterion, optimizer, device)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {evaluate(model, test_loader, device):.3f}")


if __name__ == "__main__":
    main()
