import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.transforms as transforms
from PIL import Image
from torch.utils.data import Dataset, DataLoader


class AusDataset(Dataset):
    """aligned faces with the intensities of their action units"""

    def __init__(self, n_images, n_aus):
        rng = np.random.RandomState(0)
        self.faces = rng.randint(0, 255, (n_images, 218, 178, 3)).astype(np.uint8)
        self.aus = rng.rand(n_images, n_aus).astype(np.float32)
        self.transform = transforms.Compose([
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5])])

    def __len__(self):
        return len(self.faces)

    def __getitem__(self, index):
        real_img = self.transform(Image.fromarray(self.faces[index]))
        desired = self.aus[np.random.randint(len(self.aus))]
        return {'real_img': real_img, 'real_cond': self.aus[index], 'desired_cond': desired}


class ResidualBlock(nn.Module):
    def __init__(self, dim):
        super(ResidualBlock, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(dim, dim, 3, 1, 1, bias=False), nn.InstanceNorm2d(dim, affine=True), nn.ReLU(inplace=True),
            nn.Conv2d(dim, dim, 3, 1, 1, bias=False), nn.InstanceNorm2d(dim, affine=True))

    def forward(self, x):
        return x + self.main(x)


class Generator(nn.Module):
    def __init__(self, conv_dim=8, c_dim=17, repeat_num=2):
        super(Generator, self).__init__()
        layers = [nn.Conv2d(3 + c_dim, conv_dim, 7, 1, 3, bias=False),
                  nn.InstanceNorm2d(conv_dim, affine=True), nn.ReLU(inplace=True)]
        dim = conv_dim
        for _ in range(2):
            layers += [nn.Conv2d(dim, dim * 2, 4, 2, 1, bias=False),
                       nn.InstanceNorm2d(dim * 2, affine=True), nn.ReLU(inplace=True)]
            dim *= 2
        layers += [ResidualBlock(dim) for _ in range(repeat_num)]
        for _ in range(2):
            layers += [nn.ConvTranspose2d(dim, dim // 2, 4, 2, 1, bias=False),
                       nn.InstanceNorm2d(dim // 2, affine=True), nn.ReLU(inplace=True)]
            dim //= 2
        self.main = nn.Sequential(*layers)
        self.img_reg = nn.Sequential(nn.Conv2d(dim, 3, 7, 1, 3, bias=False), nn.Tanh())
        self.attention_reg = nn.Sequential(nn.Conv2d(dim, 1, 7, 1, 3, bias=False), nn.Sigmoid())

    def forward(self, x, c):
        c = c.unsqueeze(2).unsqueeze(3).expand(c.size(0), c.size(1), x.size(2), x.size(3))
        features = self.main(torch.cat([x, c], dim=1))
        return self.img_reg(features), self.attention_reg(features)


class Discriminator(nn.Module):
    def __init__(self, conv_dim=8, c_dim=17, repeat_num=4):
        super(Discriminator, self).__init__()
        layers, dim = [nn.Conv2d(3, conv_dim, 4, 2, 1), nn.LeakyReLU(0.01)], conv_dim
        for _ in range(1, repeat_num):
            layers += [nn.Conv2d(dim, dim * 2, 4, 2, 1), nn.LeakyReLU(0.01)]
            dim *= 2
        self.main = nn.Sequential(*layers)
        self.patch = nn.Conv2d(dim, 1, 3, 1, 1, bias=False)
        self.cond = nn.Linear(dim, c_dim)

    def forward(self, x):
        h = self.main(x)
        return self.patch(h), self.cond(h.mean(dim=(2, 3)))


class FaceGan:
    def __init__(self, c_dim):
        self.G = Generator(c_dim=c_dim)
        self.D = Discriminator(c_dim=c_dim)
        self.opt_G = torch.optim.Adam(self.G.parameters(), lr=1e-4, betas=(0.5, 0.999))
        self.opt_D = torch.optim.Adam(self.D.parameters(), lr=1e-4, betas=(0.5, 0.999))

    def generate(self, img, cond):
        color, mask = self.G(img, cond)
        return mask * img + (1 - mask) * color, mask

    def optimize(self, data):
        real, cond, desired = data['real_img'], data['real_cond'], data['desired_cond']
        fake, _ = self.generate(real, desired)
        d_real, c_real = self.D(real)
        d_fake, _ = self.D(fake.detach())
        loss_D = d_fake.mean() - d_real.mean() + 160 * F.mse_loss(c_real, cond)
        self.opt_D.zero_grad()
        loss_D.backward()
        self.opt_D.step()

        fake, mask = self.generate(real, desired)
        d_fake, c_fake = self.D(fake)
        cycle, _ = self.generate(fake, cond)
        loss_G = -d_fake.mean() + 160 * F.mse_loss(c_fake, desired) + 10 * F.l1_loss(cycle, real) + 0.1 * mask.mean()
        self.opt_G.zero_grad()
        loss_G.backward()
        self.opt_G.step()
        return loss_D.item(), loss_G.item()


if __name__ == '__main__':
    torch.manual_seed(0)
    loader = DataLoader(AusDataset(12, 17), batch_size=4, shuffle=True, drop_last=True)
    model = FaceGan(c_dim=17)
    for epoch in range(2):
        for i, data in enumerate(loader):
            print('epoch %d iter %d loss_D %.3f loss_G %.3f' % ((epoch, i) + model.optimize(data)))
