import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(100, 128),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(128, 256),
            nn.BatchNorm1d(256, 0.8),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(256, 784),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z).view(z.size(0), 1, 28, 28)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(784, 256),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(256, 1),
            nn.Sigmoid(),
        )

    def forward(self, img):
        return self.model(img)


def main(real_imgs):
    generator, discriminator = Generator(), Discriminator()
    adversarial_loss = nn.BCELoss()
    batch = real_imgs.size(0)
    valid = torch.ones(batch)
    fake = torch.zeros(batch)

    gen_imgs = generator(torch.randn(batch, 100))
    g_loss = adversarial_loss(discriminator(gen_imgs), valid)
    g_loss.backward()

    real_loss = adversarial_loss(discriminator(real_imgs), valid)
    fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
    d_loss = (real_loss + fake_loss) / 2
    d_loss.backward()
    return g_loss, d_loss


def example_inputs():
    return (torch.rand(16, 1, 28, 28) * 2 - 1,)
