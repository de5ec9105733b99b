import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet18


def colour_patches(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    hues = torch.rand(classes, 3, 1, 1, generator=torch.Generator().manual_seed(classes))
    y = torch.randint(0, classes, (n,), generator=g)
    x = hues[y] + 0.25 * torch.randn(n, 3, 24, 24, generator=g)
    x = (x - 0.5) / 0.3
    return x, y


def loader_for(n, classes, seed, shuffle):
    x, y = colour_patches(n, classes, seed)
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=shuffle)


def pretrain(net, loader, epochs=1):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    net.train()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
    return net


def accuracy(net, loader):
    net.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (net(x).argmax(1) == y).sum().item()
            total += y.numel()
    return right / total


torch.manual_seed(0)

# source task: 8 colours
backbone = resnet18(weights=None, num_classes=8)
backbone = pretrain(backbone, loader_for(192, 8, seed=1, shuffle=True))
print("source task trained")

# target task: 4 other colours
train_loader = loader_for(160, 4, seed=2, shuffle=True)
test_loader = loader_for(96, 4, seed=3, shuffle=False)

for p in backbone.parameters():
    p.requires_grad = False
for p in backbone.fc.parameters():
    p.requires_grad = True

optimizer = torch.optim.Adam(backbone.fc.parameters(), lr=1e-2)

backbone.fc = nn.Linear(backbone.fc.in_features, 4)
print("trainable:", [n for n, p in backbone.named_parameters() if p.requires_grad])

for epoch in range(4):
    backbone.eval()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(backbone(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
    print(
        f"epoch {epoch + 1}: loss {running / len(train_loader.dataset):.4f} "
        f"acc {accuracy(backbone, test_loader):.3f}"
    )
