import torch
import torch.nn as nn


class AutoEncoder(nn.Module):
    """Convolutional autoencoder; returns the image and what is left of it."""

    def __init__(self, channels=1):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(channels, 4, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(4, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=2, padding=1),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(4, channels, 3, stride=2, padding=1, output_padding=1),
        )

    def forward(self, x):
        code = self.encoder(x)
        image = torch.sigmoid(self.decoder(code))
        return image, (image - x).abs()
