import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
latent_dim = 32
img_dim = 16 * 16
batch_size = 64
lr = 2e-4

generator = nn.Sequential(
    nn.Linear(latent_dim, 128),
    nn.LeakyReLU(0.2),
    nn.Linear(128, 256),
    nn.LeakyReLU(0.2),
    nn.Linear(256, img_dim),
    nn.Tanh(),
)

discriminator = nn.Sequential(
    nn.Linear(img_dim, 128),
    nn.LeakyReLU(0.2),
    nn.Dropout(0.3),
    nn.Linear(128, 1),
    nn.Sigmoid(),
)

adversarial_loss = nn.BCELoss()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=lr, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=lr, betas=(0.5, 0.999))

images = torch.rand(512, img_dim) * 2 - 1
dataloader = DataLoader(TensorDataset(images), batch_size=batch_size, shuffle=True)

for epoch in range(3):
    for i, (real_imgs,) in enumerate(dataloader):
        valid = torch.ones(real_imgs.size(0), 1)
        fake = torch.zeros(real_imgs.size(0), 1)

        # Train discriminator
        optimizer_D.zero_grad()
        z = torch.randn(real_imgs.size(0), latent_dim)
        gen_imgs = generator(z)
        real_loss = adversarial_loss(discriminator(real_imgs), valid)
        fake_loss = adversarial_loss(discriminator(gen_imgs), fake)
        d_loss = (real_loss + fake_loss) / 2
        d_loss.backward()
        optimizer_D.step()

        # Train generator
        optimizer_G.zero_grad()
        g_loss = adversarial_loss(discriminator(gen_imgs), valid)
        g_loss.backward()
        optimizer_G.step()

    print("[Epoch %d] [D loss: %f] [G loss: %f]" % (epoch, d_loss.item(), g_loss.item()))

generator.eval()
with torch.no_grad():
    samples = generator(torch.randn(16, latent_dim)).view(-1, 1, 16, 16)
print(samples.shape)
