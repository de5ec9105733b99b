"""A small DCGAN on sketches of faces."""
import argparse
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import torch.utils.data

parser = argparse.ArgumentParser()
parser.add_argument('--niter', type=int, default=1, help='number of epochs to train for')
parser.add_argument('--batchSize', type=int, default=16)
parser.add_argument('--nz', type=int, default=20, help='size of the latent vector')
parser.add_argument('--ngf', type=int, default=8)
parser.add_argument('--ndf', type=int, default=8)
parser.add_argument('--outf', default='.', help='folder for checkpoints')
parser.add_argument('--manualSeed', type=int, default=1)
opt = parser.parse_args()
os.makedirs(opt.outf, exist_ok=True)
random.seed(opt.manualSeed)
torch.manual_seed(opt.manualSeed)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class Faces(torch.utils.data.Dataset):
    def __init__(self, n=56):
        y, x = np.mgrid[-1:1:16j, -1:1:16j]
        rng = np.random.RandomState(0)
        radius = rng.uniform(0.5, 0.9, (n, 1, 1))
        self.images = np.where(x ** 2 + y ** 2 < radius ** 2, 1.0, -1.0).astype('float32')

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]).unsqueeze(0)


def weights_init(m):
    if 'Conv' in m.__class__.__name__:
        nn.init.normal_(m.weight, 0.0, 0.02)


netG = nn.Sequential(
    nn.ConvTranspose2d(opt.nz, opt.ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(opt.ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(opt.ngf * 2, opt.ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(opt.ngf), nn.ReLU(True),
    nn.ConvTranspose2d(opt.ngf, 1, 4, 2, 1, bias=False), nn.Tanh()).to(device)
netD = nn.Sequential(
    nn.Conv2d(1, opt.ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(opt.ndf, opt.ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(opt.ndf * 2), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(opt.ndf * 2, 1, 4, 1, 0, bias=False), nn.Flatten(0), nn.Sigmoid()).to(device)
netG.apply(weights_init)
netD.apply(weights_init)

criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
dataloader = torch.utils.data.DataLoader(Faces(), batch_size=opt.batchSize, shuffle=True)

for epoch in range(opt.niter):
    for i, real in enumerate(dataloader):
        # update D with all-real and all-fake batches
        netD.zero_grad()
        real = real.to(device)
        batch_size = real.size(0)
        label = torch.full((batch_size,), 1.0, device=device)
        errD_real = criterion(netD(real), label)
        errD_real.backward()
        noise = torch.randn(batch_size, opt.nz, 1, 1, device=device)
        fake = netG(noise)
        label.fill_(0.0)
        errD_fake = criterion(netD(fake), label)
        errD_fake.backward()
        optimizerD.step()
        # update G: fakes should be taken for real
        netG.zero_grad()
        label = torch.full((batch_size,), 1.0, device=device)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        print('[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f' % (
            epoch, opt.niter, i, len(dataloader), (errD_real + errD_fake).item(), errG.item()))
    torch.save(netG.state_dict(), '%s/netG_epoch_%d.pth' % (opt.outf, epoch))
    torch.save(netD.state_dict(), '%s/netD_epoch_%d.pth' % (opt.outf, epoch))
