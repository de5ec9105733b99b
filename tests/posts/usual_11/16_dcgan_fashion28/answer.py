import os
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from PIL import Image

# Root directory for dataset
dataroot = "clothes28"
batch_size = 32
image_size = 64
nc = 1
nz = 64
ngf = 16
ndf = 16
num_epochs = 1
lr = 0.0002
beta1 = 0.5

manualSeed = 999
torch.manual_seed(manualSeed)
np.random.seed(manualSeed)

# write the pictures once
for k, name in enumerate(["shirt", "trouser"]):
    os.makedirs(os.path.join(dataroot, name), exist_ok=True)
    for i in range(64):
        img = np.random.randint(0, 60, (28, 28), dtype=np.uint8)
        img[6:24, 6:22] = 200
        if k == 1:
            img[10:24, 12:16] = 20
        Image.fromarray(img).save(os.path.join(dataroot, name, "%03d.png" % i))

dataset = ImageFolder(root=dataroot,
                      transform=transforms.Compose([
                          transforms.Grayscale(),
                          transforms.Resize(image_size),
                          transforms.CenterCrop(image_size),
                          transforms.ToTensor(),
                          transforms.Normalize((0.5,), (0.5,)),
                      ]))
dataloader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.constant_(m.bias, 0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        layers = [nn.ConvTranspose2d(nz, ngf * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 8), nn.ReLU(True)]
        for m in (4, 2, 1):
            layers += [nn.ConvTranspose2d(ngf * m * 2, ngf * m, 4, 2, 1, bias=False),
                       nn.BatchNorm2d(ngf * m), nn.ReLU(True)]
        layers += [nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        layers = [nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
        for m in (1, 2, 4):
            layers += [nn.Conv2d(ndf * m, ndf * m * 2, 4, 2, 1, bias=False),
                       nn.BatchNorm2d(ndf * m * 2), nn.LeakyReLU(0.2, inplace=True)]
        layers += [nn.Conv2d(ndf * 8, 1, 4, 1, 0, bias=False), nn.Sigmoid()]
        self.main = nn.Sequential(*layers)

    def forward(self, input):
        return self.main(input)


netG = Generator().to(device)
netG.apply(weights_init)
netD = Discriminator().to(device)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(16, nz, 1, 1, device=device)
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=lr, betas=(beta1, 0.999))

for epoch in range(num_epochs):
    for i, data in enumerate(dataloader, 0):
        netD.zero_grad()
        real = data[0].to(device)
        b_size = real.size(0)
        label = torch.full((b_size,), 1.0, device=device)
        output = netD(real).view(-1)
        errD_real = criterion(output, label)
        errD_real.backward()
        noise = torch.randn(b_size, nz, 1, 1, device=device)
        fake = netG(noise)
        label.fill_(0.0)
        output = netD(fake.detach()).view(-1)
        errD_fake = criterion(output, label)
        errD_fake.backward()
        optimizerD.step()

        netG.zero_grad()
        label.fill_(1.0)
        errG = criterion(netD(fake).view(-1), label)
        errG.backward()
        optimizerG.step()
        print('[%d/%d][%d/%d]\tLoss_D: %.4f\tLoss_G: %.4f' % (epoch, num_epochs, i, len(dataloader),
              (errD_real + errD_fake).item(), errG.item()))

netG.eval()
with torch.no_grad():
    grid = netG(fixed_noise).cpu()
print("grid of samples:", tuple(grid.shape))
