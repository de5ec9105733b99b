import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Microscopy(Dataset):
    """48 x 48 patches with a few bright cells"""

    def __init__(self, n, size=48, seed=0):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
        self.images = torch.zeros(n, 1, size, size)
        for i in range(n):
            for _ in range(int(torch.randint(2, 6, (1,), generator=g))):
                cy, cx = torch.rand(2, generator=g) * size
                r = 2 + 4 * torch.rand(1, generator=g)
                self.images[i, 0] += torch.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / (2 * r ** 2))
        self.images.clamp_(0, 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


def conv_block(cin, cout, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, stride=stride),
        nn.ReLU(),
        nn.BatchNorm2d(cout),
    )


def deconv_block(cin, cout, stride):
    return nn.Sequential(
        nn.ConvTranspose2d(cin, cout, 3, padding=1, stride=stride),
        nn.ReLU(),
        nn.BatchNorm2d(cout),
    )


class Encoder(nn.Module):
    def __init__(self, base=16):
        super().__init__()
        self.blocks = nn.Sequential(
            conv_block(1, base, stride=1),
            conv_block(base, base * 2, stride=2),
            conv_block(base * 2, base * 4, stride=2),
        )

    def forward(self, x):
        return self.blocks(x)


class Decoder(nn.Module):
    def __init__(self, base=16):
        super().__init__()
        self.blocks = nn.Sequential(
            deconv_block(base * 4, base * 2, stride=2),
            deconv_block(base * 2, base, stride=2),
        )
        self.final = nn.Conv2d(base, 1, 3, padding=1)

    def forward(self, z):
        return torch.sigmoid(self.final(self.blocks(z)))


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def forward(self, x):
        return self.decoder(self.encoder(x))


def train(model, loader, epochs=4, lr=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for images in loader:
            noisy = images + 0.1 * torch.randn_like(images)
            reconstruction = model(noisy)
            loss = criterion(reconstruction, images)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * images.size(0)
        print(f"epoch {epoch + 1}: mse {running / len(loader.dataset):.5f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Microscopy(320), batch_size=32, shuffle=True)
    autoencoder = AutoEncoder()
    train(autoencoder, loader)
    torch.save(autoencoder.state_dict(), "autoencoder.pt")
