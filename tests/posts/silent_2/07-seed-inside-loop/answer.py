import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 1234
SIGMA = 0.3
NUM_EPOCHS = 5


class DnCNN(nn.Module):
    def __init__(self, channels=24, depth=4):
        super().__init__()
        layers = [nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(inplace=True)]
        for _ in range(depth - 2):
            layers += [
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
            ]
        layers.append(nn.Conv2d(channels, 1, 3, padding=1))
        self.net = nn.Sequential(*layers)

    def forward(self, noisy):
        return noisy - self.net(noisy)


def psnr(a, b):
    return -10 * torch.log10(((a - b) ** 2).mean())


def train_epoch(model, loader, optimizer, device):
    model.train()
    running = 0.0
    for (clean,) in loader:
        clean = clean.to(device)
        noisy = clean + SIGMA * torch.randn_like(clean)
        loss = nn.functional.mse_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * clean.size(0)
    return running / len(loader.dataset)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    scores = []
    for (clean,) in loader:
        clean = clean.to(device)
        noisy = clean + SIGMA * torch.randn_like(clean)
        scores.append(psnr(model(noisy), clean).item())
    return sum(scores) / len(scores)


def main():
    torch.manual_seed(SEED)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    ramp = torch.linspace(0, 1, 24).view(1, 1, 1, 24)
    images = ramp * torch.rand(160, 1, 24, 1)
    train_loader = DataLoader(TensorDataset(images[:128]), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(images[128:]), batch_size=16)
    model = DnCNN().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(NUM_EPOCHS):
        loss = train_epoch(model, train_loader, optimizer, device)
        print(f"[{epoch + 1:02d}] loss={loss:.5f} psnr={validate(model, val_loader, device):.2f}")


main()
