import argparse
import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


def get_transform(opt, grayscale=False):
    steps = []
    if grayscale:
        steps.append(transforms.Grayscale(1))
    steps += [transforms.Resize(opt.load_size), transforms.RandomCrop(opt.crop_size),
              transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    if grayscale:
        steps.append(transforms.Normalize((0.5,), (0.5,)))
    else:
        steps.append(transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)))
    return transforms.Compose(steps)


class UnalignedDataset(Dataset):
    def __init__(self, opt, n=10):
        rng = np.random.RandomState(0)
        self.A = [rng.randint(0, 256, (72, 72), dtype=np.uint8) for _ in range(n)]
        self.B = [rng.randint(0, 256, (72, 72), dtype=np.uint8) for _ in range(n + 3)]
        self.transform = get_transform(opt, grayscale=opt.input_nc == 1)

    def __len__(self):
        return max(len(self.A), len(self.B))

    def __getitem__(self, i):
        a = Image.fromarray(self.A[i % len(self.A)]).convert('RGB')
        b = Image.fromarray(self.B[i % len(self.B)]).convert('RGB')
        return {'A': self.transform(a), 'B': self.transform(b)}


class ResnetGenerator(nn.Module):
    def __init__(self, input_nc, output_nc, ngf=16):
        super().__init__()
        self.model = nn.Sequential(
            nn.ReflectionPad2d(3), nn.Conv2d(input_nc, ngf, 7), nn.InstanceNorm2d(ngf), nn.ReLU(True),
            nn.Conv2d(ngf, ngf * 2, 3, stride=2, padding=1), nn.InstanceNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 3, stride=2, padding=1, output_padding=1),
            nn.InstanceNorm2d(ngf), nn.ReLU(True),
            nn.ReflectionPad2d(3), nn.Conv2d(ngf, output_nc, 7), nn.Tanh())

    def forward(self, x):
        return self.model(x)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--input_nc', type=int, default=3)
    parser.add_argument('--output_nc', type=int, default=3)
    parser.add_argument('--load_size', type=int, default=72)
    parser.add_argument('--crop_size', type=int, default=64)
    parser.add_argument('--batch_size', type=int, default=4)
    opt = parser.parse_args()
    netG = ResnetGenerator(opt.input_nc, opt.output_nc)
    netD = nn.Sequential(nn.Conv2d(opt.output_nc, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 4, 1, 1))
    optimizer_G = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    mse = nn.MSELoss()
    for i, data in enumerate(DataLoader(UnalignedDataset(opt), batch_size=opt.batch_size, shuffle=True)):
        fake_B = netG(data['A'])
        idt_B = netG(data['B'])
        score = netD(fake_B)
        loss_G = mse(score, torch.ones_like(score)) + nn.functional.l1_loss(idt_B, data['B'])
        optimizer_G.zero_grad()
        loss_G.backward()
        optimizer_G.step()
        print(i, loss_G.item())
