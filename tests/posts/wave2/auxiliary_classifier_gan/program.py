import argparse
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument('--batchSize', type=int, default=20)
parser.add_argument('--nz', type=int, default=110)
parser.add_argument('--niter', type=int, default=2)
parser.add_argument('--num_classes', type=int, default=10)
opt = parser.parse_args()


class Generator(nn.Module):
    def __init__(self, nz, ngf=16):
        super().__init__()
        self.fc1 = nn.Linear(nz, ngf * 8 * 16)
        self.net = nn.Sequential(
            nn.ConvTranspose2d(ngf * 8, ngf * 4, 4, 2, 1), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, 3, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.net(self.fc1(z).view(z.size(0), -1, 4, 4))


class Discriminator(nn.Module):
    def __init__(self, num_classes, ndf=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, ndf, 3, 2, 1), nn.LeakyReLU(0.2, True), nn.Dropout(0.5),
            nn.Conv2d(ndf, ndf * 2, 3, 2, 1), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, True), nn.Dropout(0.5),
            nn.Conv2d(ndf * 2, ndf * 4, 3, 2, 1), nn.BatchNorm2d(ndf * 4), nn.LeakyReLU(0.2, True))
        self.fc_dis = nn.Linear(ndf * 4 * 16, 1)
        self.fc_aux = nn.Linear(ndf * 4 * 16, num_classes)
        self.softmax = nn.Softmax(dim=1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        flat = self.net(x).flatten(1)
        classes = self.softmax(self.fc_aux(flat))
        realfake = self.sigmoid(self.fc_dis(flat)).view(-1)
        return realfake, classes


torch.manual_seed(0)
data = datasets.FakeData(90, (3, 32, 32), opt.num_classes, transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)]))
dataloader = DataLoader(data, batch_size=opt.batchSize, shuffle=True)
netG, netD = Generator(opt.nz), Discriminator(opt.num_classes)
dis_criterion, aux_criterion = nn.BCELoss(), nn.NLLLoss()
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(opt.niter):
    for i, (real, label) in enumerate(dataloader):
        n = real.size(0)
        netD.zero_grad()
        dis_output, aux_output = netD(real)
        errD_real = dis_criterion(dis_output, torch.ones(n)) + aux_criterion(aux_output, label)
        accuracy = (aux_output.argmax(1) == label).float().mean()
        noise, aux_label = torch.randn(n, opt.nz), torch.randint(0, opt.num_classes, (n,))
        noise[:, :opt.num_classes] = nn.functional.one_hot(aux_label, opt.num_classes).float()
        fake = netG(noise)
        dis_output, aux_output = netD(fake.detach())
        errD_fake = dis_criterion(dis_output, torch.zeros(n)) + aux_criterion(aux_output, aux_label)
        (errD_real + errD_fake).backward()
        optimizerD.step()
        netG.zero_grad()
        dis_output, aux_output = netD(fake)
        errG = dis_criterion(dis_output, torch.ones(n)) + aux_criterion(aux_output, aux_label)
        errG.backward()
        optimizerG.step()
    print('[%d/%d] Loss_D: %.4f Loss_G: %.4f Acc: %.2f' % (
        epoch, opt.niter, (errD_real + errD_fake).item(), errG.item(), 100 * accuracy.item()))
