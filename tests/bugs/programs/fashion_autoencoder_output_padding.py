import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, base_channel_size, latent_dim):
        super().__init__()
        c_hid = base_channel_size
        self.net = nn.Sequential(
            nn.Conv2d(1, c_hid, kernel_size=3, padding=1, stride=2),
            nn.GELU(),
            nn.Conv2d(c_hid, 2 * c_hid, kernel_size=3, padding=1, stride=2),
            nn.GELU(),
            nn.Flatten(),
            nn.Linear(2 * 49 * c_hid, latent_dim),
        )

    def forward(self, x):
        return self.net(x)


class Decoder(nn.Module):
    def __init__(self, base_channel_size, latent_dim):
        super().__init__()
        c_hid = base_channel_size
        self.linear = nn.Sequential(nn.Linear(latent_dim, 2 * 49 * c_hid), nn.GELU())
        self.up1 = nn.ConvTranspose2d(2 * c_hid, c_hid, 3, padding=1, stride=2)
        self.up2 = nn.ConvTranspose2d(c_hid, 1, 3, output_padding=1, padding=1, stride=2)

    def forward(self, z):
        x = self.linear(z)
        x = x.reshape(x.shape[0], -1, 7, 7)
        x = torch.relu(self.up1(x))
        return torch.sigmoid(self.up2(x))


class Model(nn.Module):
    def __init__(self, base_channel_size=6, latent_dim=16):
        super().__init__()
        self.encoder = Encoder(base_channel_size, latent_dim)
        self.decoder = Decoder(base_channel_size, latent_dim)

    def forward(self, x):
        x_hat = self.decoder(self.encoder(x))
        loss = nn.functional.mse_loss(x_hat, x, reduction="none")
        loss = loss.sum(dim=[1, 2, 3]).mean(dim=0)
        return loss, x_hat


def example_inputs():
    return (torch.rand(5, 1, 28, 28),)
