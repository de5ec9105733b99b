import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision.transforms import v2

torch.manual_seed(40)

patterns = torch.rand(5, 3, 24, 24)
images = (patterns[torch.randint(0, 5, (640,))] + 0.1 * torch.randn(640, 3, 24, 24)).clamp(0, 1)
loader = DataLoader(images, batch_size=64, shuffle=True, drop_last=True)

augment = v2.Compose([
    v2.RandomResizedCrop(24, scale=(0.4, 1.0)),
    v2.RandomHorizontalFlip(),
    v2.ColorJitter(brightness=0.3, contrast=0.3),
])


def two_views(batch):
    a = torch.stack([augment(img) for img in batch])
    b = torch.stack([augment(img) for img in batch])
    return a, b


encoder = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 64),
)
predictor = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 64))
params = list(encoder.parameters()) + list(predictor.parameters())
optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9)


def neg_cosine(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


for epoch in range(5):
    encoder.train()
    predictor.train()
    total = 0.0
    for batch in loader:
        x1, x2 = two_views(batch)
        z1, z2 = encoder(x1), encoder(x2)
        p1, p2 = predictor(z1), predictor(z2)
        loss = 0.5 * neg_cosine(p1, z2) + 0.5 * neg_cosine(p2, z1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()

    encoder.eval()
    with torch.no_grad():
        spread = F.normalize(encoder(images), dim=1).std(0).mean().item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f} feature std {spread:.4f}")
