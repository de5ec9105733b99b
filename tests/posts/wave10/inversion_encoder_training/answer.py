import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, z_dim=64):
        super().__init__()
        self.fc = nn.Linear(z_dim, 64 * 4 * 4)
        self.net = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(64, 32, 3, 1, 1), nn.LeakyReLU(0.2),
            nn.Upsample(scale_factor=2), nn.Conv2d(32, 16, 3, 1, 1), nn.LeakyReLU(0.2),
            nn.Upsample(scale_factor=2), nn.Conv2d(16, 3, 3, 1, 1), nn.Tanh())

    def forward(self, w):
        return self.net(self.fc(w).view(-1, 64, 4, 4))


class Encoder(nn.Module):
    def __init__(self, z_dim=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.Flatten(), nn.Linear(64 * 4 * 4, z_dim))

    def forward(self, x):
        return self.net(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(64 * 4 * 4, 1))

    def forward(self, x):
        return self.net(x)


def div_loss(logits, inputs, gamma=10.0):
    grad = torch.autograd.grad(logits.sum(), inputs, create_graph=True)[0]
    return gamma * 0.5 * grad.pow(2).flatten(1).sum(1).mean()


def training_loop(images, max_epoch=2, batch_size=8, loss_pix_weight=1.0, loss_adv_weight=0.1):
    G = Generator()
    E = Encoder()
    D = Discriminator()
    G.eval()
    for p in G.parameters():
        p.requires_grad = False
    E.train()
    D.train()
    optimizer_E = torch.optim.Adam(E.parameters(), lr=1e-4, betas=(0.9, 0.99))
    optimizer_D = torch.optim.Adam(D.parameters(), lr=1e-4, betas=(0.9, 0.99))
    lr_scheduler_E = torch.optim.lr_scheduler.ExponentialLR(optimizer_E, 0.8)
    lr_scheduler_D = torch.optim.lr_scheduler.ExponentialLR(optimizer_D, 0.8)
    loader = DataLoader(TensorDataset(images), batch_size=batch_size, shuffle=True)

    for epoch in range(max_epoch):
        for step, (x_real,) in enumerate(loader):
            w = E(x_real)
            x_fake = G(w)
            loss_feat = F.l1_loss(F.avg_pool2d(x_fake, 4), F.avg_pool2d(x_real, 4))
            loss_pix = F.mse_loss(x_fake, x_real)
            loss_adv = F.softplus(-D(x_fake)).mean()
            E_loss = loss_pix_weight * loss_pix + 5e-5 * loss_feat + loss_adv_weight * loss_adv
            optimizer_E.zero_grad()
            E_loss.backward()
            optimizer_E.step()

            x_real.requires_grad_(True)
            real_logits = D(x_real)
            fake_logits = D(x_fake.detach())
            loss_real = F.softplus(-real_logits).mean()
            loss_fake = F.softplus(fake_logits).mean()
            loss_gp = div_loss(real_logits, x_real)
            D_loss = loss_real + loss_fake + loss_gp
            optimizer_D.zero_grad()
            D_loss.backward()
            optimizer_D.step()

            if step % 2 == 0:
                print(f'epoch {epoch} step {step} E_loss {E_loss.item():.4f} D_loss {D_loss.item():.4f}')
        lr_scheduler_E.step()
        lr_scheduler_D.step()


if __name__ == '__main__':
    training_loop(torch.rand(32, 3, 32, 32) * 2 - 1)
