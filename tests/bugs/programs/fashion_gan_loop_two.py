import torch
from torch import nn

latent_size = 10
hidden_size = 32
image_size = 14 * 14

D = nn.Sequential(
    nn.Linear(image_size, hidden_size),
    nn.LeakyReLU(0.2),
    nn.Linear(hidden_size, 1),
    nn.Sigmoid(),
)

G = nn.Sequential(
    nn.Linear(latent_size, hidden_size),
    nn.ReLU(),
    nn.Linear(hidden_size, image_size),
    nn.Tanh(),
)

criterion = nn.BCELoss()


def main(images):
    d_optimizer = torch.optim.Adam(D.parameters(), lr=2e-4)
    g_optimizer = torch.optim.Adam(G.parameters(), lr=2e-4)
    n = images.size(0)
    real = images
    real_labels = torch.ones(n)
    fake_labels = torch.zeros(n)

    outputs = D(real)
    d_loss_real = criterion(outputs, real_labels)
    z = torch.randn(n, latent_size)
    d_loss_fake = criterion(D(G(z).detach()), fake_labels)
    d_loss = d_loss_real + d_loss_fake
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()

    fake = G(torch.randn(n, latent_size))
    g_loss = criterion(D(fake), real_labels)
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    return d_loss, g_loss, fake


def example_inputs():
    return (torch.rand(12, 1, 14, 14) * 2 - 1,)
