import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_portraits(n, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    images, masks = [], []
    for _ in range(n):
        cy, cx = torch.randint(8, 24, (2,), generator=g)
        r = torch.randint(5, 9, (1,), generator=g)
        mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).long()
        image = torch.randn(3, size, size, generator=g) * 0.2 + mask * 0.8
        images.append(image)
        masks.append(mask)
    return torch.stack(images), torch.stack(masks)


class HairNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        )
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.head = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        return self.head(F.relu(self.up(self.down(x))))


class ImageGradientLoss(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        sobel = torch.tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
        self.register_buffer("kx", sobel.view(1, 1, 3, 3))
        self.register_buffer("ky", sobel.t().reshape(1, 1, 3, 3))
        self.eps = eps

    def gradient(self, x):
        gx = F.conv2d(x, self.kx, padding=1)
        gy = F.conv2d(x, self.ky, padding=1)
        return gx, gy, torch.sqrt(gx ** 2 + gy ** 2 + self.eps)

    def forward(self, pred, gray):
        size = pred.size()
        pred = pred.argmax(1).view(size[0], 1, size[2], size[3]).float()
        ix, iy, imag = self.gradient(gray)
        mx, my, mmag = self.gradient(pred)
        agreement = (ix / imag * mx / mmag + iy / imag * my / mmag) ** 2
        return (mmag * (1 - agreement)).sum() / mmag.sum()


def train():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, masks = make_portraits(64)
    loader = DataLoader(TensorDataset(images, masks), batch_size=16, shuffle=True)

    model = HairNet().to(device)
    class_loss = nn.CrossEntropyLoss()
    edge_loss = ImageGradientLoss().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(6):
        total_ce = total_edge = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            gray = x.mean(dim=1, keepdim=True)
            logits = model(x)
            ce = class_loss(logits, y)
            edge = edge_loss(torch.softmax(logits, dim=1), gray)
            loss = ce + 0.5 * edge
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_ce += ce.item()
            total_edge += edge.item()
        print(f"epoch {epoch}: ce {total_ce / len(loader):.4f} edge {total_edge / len(loader):.4f}")


if __name__ == "__main__":
    train()
