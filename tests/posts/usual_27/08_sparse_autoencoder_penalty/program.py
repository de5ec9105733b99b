import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SpectraDataset(Dataset):
    """Infrared spectra as sums of a few Gaussian peaks."""

    def __init__(self, n, bins=120, peaks=4, seed=0):
        g = torch.Generator().manual_seed(seed)
        axis = torch.linspace(0, 1, bins)
        centers = torch.tensor([0.15, 0.35, 0.6, 0.85])[:peaks]
        heights = torch.rand(n, peaks, 1, generator=g)
        shape = torch.exp(-((axis - centers[:, None]) ** 2) / 0.002)
        self.x = (heights * shape).sum(1) + 0.02 * torch.randn(n, bins, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


class Encoder(nn.Module):
    def __init__(self, bins, code):
        super().__init__()
        self.fc1 = nn.Linear(bins, 64)
        self.fc2 = nn.Linear(64, code)

    def forward(self, x):
        return torch.sigmoid(self.fc2(F.relu(self.fc1(x))))


class Decoder(nn.Module):
    def __init__(self, bins, code):
        super().__init__()
        self.fc1 = nn.Linear(code, 64)
        self.fc2 = nn.Linear(64, bins)

    def forward(self, z):
        return self.fc2(F.relu(self.fc1(z)))


class SparseAutoencoder(nn.Module):
    def __init__(self, bins=120, code=8):
        super().__init__()
        self.encoder = Encoder(bins, code)
        self.decoder = Decoder(bins, code)

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), z

    def weight_penalty(self):
        total = 0.0
        for name, p in self.encoder.named_parameters():
            if name.endswith("weight"):
                total = total + p.pow(2).sum()
        return total


def run_training(model, loader, epochs, l2=1e-4, sparsity=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        seen, total = 0, 0.0
        penalty = l2 * model.weight_penalty()
        for x in loader:
            recon, z = model(x)
            mse = F.mse_loss(recon, x)
            loss = mse + sparsity * z.abs().mean() + penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += mse.item() * len(x)
            seen += len(x)
        print(f"epoch {epoch}: reconstruction {total / seen:.5f}")


def reconstruction_error(model, loader):
    model.eval()
    with torch.no_grad():
        errors = [F.mse_loss(model(x)[0], x, reduction="none").mean(1) for x in loader]
    return torch.cat(errors)


if __name__ == "__main__":
    torch.manual_seed(2)
    train_loader = DataLoader(SpectraDataset(320), batch_size=40, shuffle=True)
    test_loader = DataLoader(SpectraDataset(80, seed=9), batch_size=40)
    model = SparseAutoencoder()
    run_training(model, train_loader, epochs=4)
    errors = reconstruction_error(model, test_loader)
    print("test error: mean %.4f, max %.4f" % (errors.mean(), errors.max()))
