import torch
import torch.nn as nn

generator = nn.Sequential(
    nn.Linear(100, 128),
    nn.LeakyReLU(0.2),
    nn.Linear(128, 256),
    nn.BatchNorm1d(256),
    nn.LeakyReLU(0.2),
    nn.Linear(256, 784),
    nn.Tanh(),
)

discriminator = nn.Sequential(
    nn.Linear(784, 256),
    nn.LeakyReLU(0.2),
    nn.Linear(256, 1),
    nn.Sigmoid(),
)

adversarial_loss = nn.BCELoss()


def main(imgs):
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=0.0002, betas=(0.5, 0.999))
    valid = torch.ones(imgs.size(0), 1)
    fake = torch.zeros(imgs.size(0), 1)

    z = torch.randn(imgs.size(0), 64)
    gen_imgs = generator(z)
    g_loss = adversarial_loss(discriminator(gen_imgs), valid)

    opt_d.zero_grad()
    real_loss = adversarial_loss(discriminator(imgs), valid)
    fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
    d_loss = (real_loss + fake_loss) / 2
    d_loss.backward()
    opt_d.step()
    return g_loss, d_loss, gen_imgs.view(-1, 1, 28, 28)


def example_inputs():
    return (torch.rand(8, 1, 28, 28) * 2 - 1,)
