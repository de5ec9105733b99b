import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)


class NoisySquares(Dataset):
    def __init__(self, n=256, noise=0.3):
        self.clean = torch.zeros(n, 1, 28, 28)
        for i in range(n):
            top, left = torch.randint(2, 16, (2,)).tolist()
            side = torch.randint(4, 11, (1,)).item()
            self.clean[i, 0, top:top + side, left:left + side] = 1.0
        self.noise = noise

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        clean = self.clean[i]
        noisy = (clean + self.noise * torch.randn_like(clean)).clamp(0, 1)
        return noisy, clean


class DenoisingAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(32, 16, kernel_size=3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 1, kernel_size=3, stride=2, padding=1, output_padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def psnr(mse):
    return 10 * torch.log10(1.0 / mse)


dataset = NoisySquares()
train_set, val_set = torch.utils.data.random_split(dataset, [208, 48])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=48)

model = DenoisingAutoencoder()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(1, 6):
    model.train()
    epoch_loss = 0.0
    for noisy, clean in train_loader:
        recon = model(noisy)
        loss = criterion(recon, clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * noisy.size(0)

    model.eval()
    with torch.no_grad():
        noisy, clean = next(iter(val_loader))
        val_mse = criterion(model(noisy), clean)
    print(f"epoch {epoch}: train {epoch_loss / len(train_set):.4f}  val psnr {psnr(val_mse).item():.2f} dB")
