import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, latent=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.fc = nn.Linear(16 * 7 * 7, latent)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class Decoder(nn.Module):
    def __init__(self, latent=16):
        super().__init__()
        self.fc = nn.Linear(latent, 16 * 7 * 7)
        self.deconv = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Sigmoid(),
        )

    def forward(self, z):
        return self.deconv(torch.relu(self.fc(z)).view(-1, 16, 7, 7))


def add_noise(images, sigma=0.3):
    return (images + sigma * torch.randn_like(images)).clamp(0.0, 1.0)


torch.manual_seed(0)
device = torch.device("cpu")
images = torch.rand(256, 1, 28, 28)
loader = DataLoader(TensorDataset(images, torch.zeros(256)), batch_size=64, shuffle=True)

encoder = Encoder().to(device)
decoder = Decoder().to(device)

criterion = nn.MSELoss()
params_to_optimize = [encoder.parameters(), decoder.parameters()]
optimizer = optim.Adam(params_to_optimize, lr=1e-3, weight_decay=1e-5)

for epoch in range(3):
    encoder.train()
    decoder.train()
    losses = []
    for image_batch, _ in loader:
        noisy = add_noise(image_batch).to(device)
        decoded = decoder(encoder(noisy))
        loss = criterion(decoded, image_batch.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}/3  train loss {sum(losses) / len(losses):.4f}")
