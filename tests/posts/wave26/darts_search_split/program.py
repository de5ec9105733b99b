import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.sampler import SubsetRandomSampler

CLASSES = ["bottle", "can", "carton", "jar"]


class FolderImages(Dataset):
    """Reads the class folders one after the other, as ImageFolder does."""

    def __init__(self, per_class=60, size=16, seed=5):
        rng = np.random.default_rng(seed)
        prototypes = rng.normal(0, 1, (len(CLASSES), 3, size, size))
        self.samples = []
        for label in range(len(CLASSES)):
            for _ in range(per_class):
                picture = prototypes[label] + rng.normal(0, 0.7, (3, size, size))
                self.samples.append((picture.astype(np.float32), label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        picture, label = self.samples[i]
        return torch.from_numpy(picture), label


class MixedOp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ops = nn.ModuleList([
            nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU()),
            nn.Sequential(nn.Conv2d(c, c, 5, padding=2, bias=False), nn.BatchNorm2d(c), nn.ReLU()),
            nn.Identity(),
        ])

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class SearchCNN(nn.Module):
    def __init__(self, c=12, layers=2, n_classes=len(CLASSES)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, c, 3, padding=1, bias=False), nn.BatchNorm2d(c))
        self.cells = nn.ModuleList([MixedOp(c) for _ in range(layers)])
        self.alphas = nn.Parameter(1e-3 * torch.randn(layers, 3))
        self.linear = nn.Linear(c * 16, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for cell, alpha in zip(self.cells, F.softmax(self.alphas, dim=-1)):
            x = cell(x, alpha)
        return self.linear(F.adaptive_avg_pool2d(x, 4).flatten(1))


def accuracy(logits, target):
    return (logits.argmax(dim=1) == target).float().mean().item()


def run_epoch(model, loader, device, optimizer=None):
    model.train(optimizer is not None)
    losses, precs = [], []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        with torch.set_grad_enabled(optimizer is not None):
            logits = model(x)
            loss = F.cross_entropy(logits, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
        precs.append(accuracy(logits, y))
    return np.mean(losses), np.mean(precs)


def main():
    np.random.seed(2)
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_data = FolderImages()
    n_train = len(train_data)
    split = n_train * 3 // 4
    indices = list(range(n_train))
    train_sampler = SubsetRandomSampler(indices[:split])
    valid_sampler = SubsetRandomSampler(indices[split:])
    train_loader = DataLoader(train_data, batch_size=16, sampler=train_sampler)
    valid_loader = DataLoader(train_data, batch_size=16, sampler=valid_sampler)

    model = SearchCNN().to(device)
    weights = [p for n, p in model.named_parameters() if n != "alphas"]
    optimizer = torch.optim.Adam([{"params": weights}, {"params": [model.alphas], "lr": 3e-3}], lr=5e-3)
    for epoch in range(6):
        loss, prec = run_epoch(model, train_loader, device, optimizer)
        vloss, vprec = run_epoch(model, valid_loader, device)
        print("epoch %d train %.3f %.1f%%  valid %.3f %.1f%%" % (epoch + 1, loss, 100 * prec, vloss, 100 * vprec))


if __name__ == "__main__":
    main()
