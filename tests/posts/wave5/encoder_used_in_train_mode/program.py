import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader


class AutoEncoder(nn.Module):
    def __init__(self, n_bottleneck=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 7 * 7, n_bottleneck))
        self.decoder = nn.Sequential(
            nn.Linear(n_bottleneck, 16 * 7 * 7), nn.Unflatten(1, (16, 7, 7)), nn.ReLU(),
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class ImageEncoder:
    """turns a picture into the vector that the controller works on"""

    def __init__(self, model):
        self.model = model

    def __call__(self, image):
        with torch.no_grad():
            return self.model.encoder(image.unsqueeze(0)).squeeze(0)


def train(model, loader, n_epoch=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(n_epoch):
        model.train()
        for (x,) in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), x)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())


torch.manual_seed(0)
images = torch.rand(40, 3, 28, 28) * torch.linspace(0.2, 1, 40).view(-1, 1, 1, 1)
model = AutoEncoder()
train(model, DataLoader(TensorDataset(images), batch_size=8, shuffle=True))

encode = ImageEncoder(model)
features = torch.stack([encode(image) for image in images])
again = torch.stack([encode(image) for image in images])
print("features", features.shape, "spread", features.std(0).mean().item())
print("same picture, same vector:", torch.allclose(features, again))
brightness = images.mean((1, 2, 3))
fit = torch.linalg.lstsq(torch.cat([features, torch.ones(40, 1)], 1), brightness.unsqueeze(1)).solution
error = torch.cat([features, torch.ones(40, 1)], 1) @ fit - brightness.unsqueeze(1)
print("brightness error", error.abs().mean().item())
