import argparse
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

parser = argparse.ArgumentParser()
parser.add_argument('--nz', type=int, default=32)
parser.add_argument('--ngf', type=int, default=16)
parser.add_argument('--ndf', type=int, default=16)
parser.add_argument('--niter', type=int, default=2)
parser.add_argument('--lr', type=float, default=0.0002)
parser.add_argument('--beta1', type=float, default=0.5)
parser.add_argument('--batchSize', type=int, default=32)
opt = parser.parse_args()

torch.manual_seed(999)


# custom weights initialization called on netG and netD
def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find('BatchNorm') != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


netG = nn.Sequential(
    # Z -> 4x4
    nn.ConvTranspose2d(opt.nz, opt.ngf * 4, 4, 1, 0, bias=False),
    nn.BatchNorm2d(opt.ngf * 4), nn.ReLU(True),
    # 8x8
    nn.ConvTranspose2d(opt.ngf * 4, opt.ngf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(opt.ngf * 2), nn.ReLU(True),
    # 16x16
    nn.ConvTranspose2d(opt.ngf * 2, opt.ngf, 4, 2, 1, bias=False),
    nn.BatchNorm2d(opt.ngf), nn.ReLU(True),
    # 32x32
    nn.ConvTranspose2d(opt.ngf, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)
netD = nn.Sequential(
    nn.Conv2d(1, opt.ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(opt.ndf, opt.ndf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(opt.ndf * 2), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(opt.ndf * 2, opt.ndf * 4, 4, 2, 1, bias=False),
    nn.BatchNorm2d(opt.ndf * 4), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(opt.ndf * 4, 1, 4, 1, 0, bias=False),
    nn.Sigmoid(),
)
netG.apply(weights_init)
netD.apply(weights_init)

# bright squares at random places, in [-1, 1]
images = -torch.ones(256, 1, 32, 32)
for img in images:
    r, c = torch.randint(4, 20, (2,)).tolist()
    img[0, r:r + 8, c:c + 8] = 1.0
dataloader = DataLoader(TensorDataset(images), batch_size=opt.batchSize, shuffle=True)

criterion = nn.BCELoss()
fixed_noise = torch.randn(16, opt.nz, 1, 1)
optimizerD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))

for epoch in range(opt.niter):
    for i, (real,) in enumerate(dataloader):
        # (1) Update D: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        b = real.size(0)
        label = torch.full((b,), 1.0)
        output = netD(real).view(-1)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()

        noise = torch.randn(b, opt.nz, 1, 1)
        fake = netG(noise)
        label.fill_(0.0)
        output = netD(fake).view(-1)
        errD_fake = criterion(output, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()

        # (2) Update G: maximize log(D(G(z)))
        netG.zero_grad()
        label.fill_(1.0)
        output = netD(fake).view(-1)
        errG = criterion(output, label)
        errG.backward()
        D_G_z = output.mean().item()
        optimizerG.step()

        if i % 4 == 0:
            print('[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f'
                  % (epoch, opt.niter, i, len(dataloader), errD.item(), errG.item(), D_x, D_G_z))

netG.eval()
with torch.no_grad():
    samples = netG(fixed_noise)
print('samples', tuple(samples.shape), samples.min().item(), samples.max().item())
