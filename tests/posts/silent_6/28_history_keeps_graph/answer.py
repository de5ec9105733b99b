import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def fields(n, size=24):
    """Smooth temperature fields with missing patches to fill in."""
    coarse = torch.randn(n, 1, 4, 4)
    full = nn.functional.interpolate(coarse, size=(size, size), mode="bicubic")
    mask = (torch.rand(n, 1, 6, 6) > 0.3).float()
    mask = nn.functional.interpolate(mask, size=(size, size), mode="nearest")
    return full, mask


class Inpainter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=4, dilation=4), nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    def forward(self, field, mask):
        return self.net(torch.cat([field * mask, mask], dim=1))


def roughness(x):
    dx = x[..., 1:] - x[..., :-1]
    dy = x[..., 1:, :] - x[..., :-1, :]
    return dx.pow(2).mean() + dy.pow(2).mean()


def train(model, loader, optimizer, weight=0.05):
    model.train()
    window_loss = 0.0
    for field, mask in loader:
        optimizer.zero_grad()
        out = model(field, mask)
        recon = (out - field).pow(2).mean()
        smooth = weight * roughness(out)
        loss = recon + smooth
        loss.backward()
        optimizer.step()
        window_loss += loss.item()
    return window_loss / len(loader)


def main():
    torch.manual_seed(0)
    full, mask = fields(500)
    loader = DataLoader(TensorDataset(full, mask), batch_size=20, shuffle=True)
    model = Inpainter()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    history = []
    for epoch in range(5):
        history.append(train(model, loader, optimizer))
        print(f"epoch {epoch + 1}: loss {history[-1]:.4f}")
    best = min(range(len(history)), key=lambda e: history[e])
    print(f"best epoch {best + 1} of {len(history)}")


if __name__ == "__main__":
    main()
