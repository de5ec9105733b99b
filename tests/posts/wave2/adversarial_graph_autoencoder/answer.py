import torch
import torch.nn as nn
import torch.nn.functional as F


class GCNConv(nn.Module):
    """dense graph convolution: D^-1/2 (A + I) D^-1/2 X W"""

    def __init__(self, in_channels, out_channels):
        super(GCNConv, self).__init__()
        self.lin = nn.Linear(in_channels, out_channels)

    def forward(self, x, adj):
        a = adj + torch.eye(adj.size(0), device=adj.device)
        d = a.sum(1).clamp_min(1e-6).rsqrt()
        return (d[:, None] * a * d[None, :]) @ self.lin(x)


class Encoder(nn.Module):
    def __init__(self, in_channels, out_channels):
        super(Encoder, self).__init__()
        self.conv1 = GCNConv(in_channels, 2 * out_channels)
        self.conv2 = GCNConv(2 * out_channels, out_channels)

    def forward(self, x, adj):
        x = F.relu(self.conv1(x, adj))
        return self.conv2(x, adj)


class Discriminator(nn.Module):
    def __init__(self, in_channels):
        super(Discriminator, self).__init__()
        self.fc1 = nn.Linear(in_channels, 2 * in_channels)
        self.fc2 = nn.Linear(2 * in_channels, 1)

    def forward(self, z):
        return self.fc2(F.relu(self.fc1(z)))


class GAE(nn.Module):
    def __init__(self, encoder):
        super(GAE, self).__init__()
        self.encoder = encoder

    def decode(self, z):
        return torch.sigmoid(z @ z.t())

    def forward(self, x, adj):
        return self.decode(self.encoder(x, adj))


class ARGA(GAE):
    def __init__(self, encoder, discriminator):
        super(ARGA, self).__init__(encoder)
        self.discriminator = discriminator
        self.latent_prior = torch.distributions.Normal(0.0, 1.0)

    def forward(self, x, adj):
        z = self.encoder(x, adj)
        real = torch.sigmoid(self.discriminator(self.latent_prior.sample(z.shape)))
        fake = torch.sigmoid(self.discriminator(z))
        return self.decode(z), real, fake


def cora_model():
    return ARGA(Encoder(1433, 16), Discriminator(16))
