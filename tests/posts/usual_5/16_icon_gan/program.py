import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# parameters
BATCH_SIZE = 64
Z_DIM = 32
IMG = 16
LR = 2e-4
EPOCHS = 3

torch.manual_seed(123)
np.random.seed(123)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def make_icons(n):
    """white plus signs and squares, scaled to [-1, 1] because G ends with tanh"""
    icons = -np.ones((n, 1, IMG, IMG), dtype=np.float32)
    for k in range(n):
        r, c = np.random.randint(4, 12, size=2)
        if np.random.rand() < 0.5:
            icons[k, 0, r - 3:r + 4, c] = 1
            icons[k, 0, r, c - 3:c + 4] = 1
        else:
            icons[k, 0, r - 3:r + 3, c - 3:c + 3] = 1
    return torch.from_numpy(icons)


dataset = TensorDataset(make_icons(1000))
dataloader = DataLoader(dataset, batch_size=BATCH_SIZE, shuffle=True)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(Z_DIM, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 256),
            nn.BatchNorm1d(256),
            nn.LeakyReLU(0.2),
            nn.Linear(256, IMG * IMG),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z).view(-1, 1, IMG, IMG)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Flatten(),
            nn.Linear(IMG * IMG, 256),
            nn.LeakyReLU(0.2),
            nn.Dropout(0.3),
            nn.Linear(256, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.model(x)


G, D = Generator().to(device), Discriminator().to(device)
criterion = nn.BCELoss()
opt_G = torch.optim.Adam(G.parameters(), lr=LR, betas=(0.5, 0.999))
opt_D = torch.optim.Adam(D.parameters(), lr=LR, betas=(0.5, 0.999))
fixed_noise = torch.randn(8, Z_DIM, device=device)

real_labels = torch.ones(BATCH_SIZE, 1, device=device)
fake_labels = torch.zeros(BATCH_SIZE, 1, device=device)

for epoch in range(EPOCHS):
    G.train()
    for i, (real,) in enumerate(dataloader):
        real = real.to(device)

        # ---- discriminator ----
        opt_D.zero_grad()
        loss_real = criterion(D(real), real_labels)
        fake = G(torch.randn(real.size(0), Z_DIM, device=device))
        loss_fake = criterion(D(fake.detach()), fake_labels)
        loss_D = loss_real + loss_fake
        loss_D.backward()
        opt_D.step()

        # ---- generator ----
        opt_G.zero_grad()
        loss_G = criterion(D(fake), real_labels)
        loss_G.backward()
        opt_G.step()

    print('Epoch [%d/%d] loss_D: %.4f loss_G: %.4f' % (epoch + 1, EPOCHS, loss_D.item(), loss_G.item()))
    G.eval()
    with torch.no_grad():
        samples = (G(fixed_noise).cpu().numpy() + 1) / 2
    print('   sample mean %.3f' % samples.mean())
