import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class FeatureExtractorDataset(Dataset):
    """mel spectrograms of short recordings, 201 frames x 128 mels"""

    def __init__(self, n=32, frames=201, mels=128, seed=0):
        rng = np.random.RandomState(seed)
        t = np.linspace(0, 6, frames)[:, None]
        f = np.linspace(0, 3, mels)[None, :]
        self.features = np.stack([
            np.abs(np.sin(rng.uniform(1, 4) * t + rng.uniform(1, 4) * f)) + 0.1 * rng.rand(frames, mels)
            for _ in range(n)]).astype(np.float32)

    def __len__(self):
        return len(self.features)

    def __getitem__(self, idx):
        return torch.from_numpy(self.features[idx]).t().unsqueeze(0)


class ConvAutoEncoder(nn.Module):
    def __init__(self):
        super(ConvAutoEncoder, self).__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, stride=2, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU(),
            nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1), nn.BatchNorm2d(32), nn.LeakyReLU(),
            nn.Conv2d(32, 16, kernel_size=3, stride=1, padding=1), nn.LeakyReLU())
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 32, kernel_size=3, stride=1, padding=1), nn.LeakyReLU(),
            nn.ConvTranspose2d(32, 16, kernel_size=3, stride=2, padding=1, output_padding=(1, 0)),
            nn.BatchNorm2d(16), nn.LeakyReLU(),
            nn.ConvTranspose2d(16, 1, kernel_size=3, stride=2, padding=(0, 1)), nn.ReLU())

    def forward(self, x):
        representation = self.encoder(x)
        return self.decoder(representation), representation


def train_and_validate(model, train_loader, valid_loader, loss_function, optimizer, epochs):
    for epoch in range(1, epochs + 1):
        model.train()
        train_loss = 0.0
        for inputs in train_loader:
            optimizer.zero_grad()
            outputs, _ = model(inputs)
            loss = loss_function(outputs, inputs)
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
        model.eval()
        valid_loss = 0.0
        with torch.no_grad():
            for inputs in valid_loader:
                outputs, _ = model(inputs)
                valid_loss += loss_function(outputs, inputs).item()
        print('Epoch {} train {:.4f} valid {:.4f}'.format(
            epoch, train_loss / len(train_loader), valid_loss / len(valid_loader)))


if __name__ == '__main__':
    torch.manual_seed(0)
    train_loader = DataLoader(FeatureExtractorDataset(), batch_size=16, shuffle=True)
    valid_loader = DataLoader(FeatureExtractorDataset(n=16, seed=1), batch_size=16)
    model = ConvAutoEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.002)
    train_and_validate(model, train_loader, valid_loader, nn.MSELoss(), optimizer, epochs=2)
