import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def get_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crop_size", type=int, default=320)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--ndf", type=int, default=8)
    parser.add_argument("--num_classes", type=int, default=6)
    parser.add_argument("--niter", type=int, default=2)
    return parser.parse_args()


class AgeFaces(Dataset):
    def __init__(self, n, size, num_classes):
        self.images = torch.rand(n, 3, 32, 32)
        self.ages = torch.arange(n) % num_classes
        self.size = size

    def __len__(self):
        return self.images.size(0)

    def __getitem__(self, idx):
        img = F.interpolate(self.images[idx : idx + 1], size=(self.size, self.size), mode="bilinear",
                            align_corners=False)[0]
        return {"img": img * 2 - 1, "age": self.ages[idx]}


class PixelNorm(nn.Module):
    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-8)


class Down(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.norm = PixelNorm()

    def forward(self, x):
        x = F.leaky_relu(self.norm(self.conv(x)), 0.2)
        return F.avg_pool2d(x, 2)


class AgeDiscriminator(nn.Module):
    def __init__(self, ndf, num_classes, n_down=6):
        super().__init__()
        layers = [nn.Conv2d(3, ndf, 1), nn.LeakyReLU(0.2)]
        ch = ndf
        for i in range(n_down):
            nxt = min(ch * 2, ndf * 8)
            layers.append(Down(ch, nxt))
            ch = nxt
        self.encoder = nn.Sequential(*layers)
        self.last = nn.Sequential(nn.Conv2d(ch + 1, ch, 3, padding=1), nn.LeakyReLU(0.2))
        self.out = nn.Conv2d(ch, num_classes, 4)

    def batch_std(self, feat):
        std = torch.sqrt(feat.var(dim=0, unbiased=False) + 1e-8)
        mean_std = std.mean().expand(feat.size(0), 1, feat.size(2), feat.size(3))
        return torch.cat((feat, mean_std), 1)

    def forward(self, img, age):
        feat = self.encoder(img)
        logits = self.out(self.last(self.batch_std(feat)))
        logits = logits.flatten(2).mean(2)
        return logits.gather(1, age.view(-1, 1))


def main():
    opt = get_options()
    torch.manual_seed(1)
    data = DataLoader(AgeFaces(16, opt.crop_size, opt.num_classes), batch_size=opt.batch_size, shuffle=True,
                      drop_last=True)
    net_d = AgeDiscriminator(opt.ndf, opt.num_classes)
    optim_d = torch.optim.Adam(net_d.parameters(), lr=1e-3, betas=(0.0, 0.999))

    step = 0
    for batch in data:
        if step == opt.niter:
            break
        real, age = batch["img"], batch["age"]
        fake = torch.tanh(torch.randn_like(real))
        optim_d.zero_grad()
        loss_real = F.softplus(-net_d(real, age)).mean()
        loss_fake = F.softplus(net_d(fake, age)).mean()
        loss = loss_real + loss_fake
        loss.backward()
        optim_d.step()
        step += 1
        print("step %d D_real %.4f D_fake %.4f" % (step, loss_real.item(), loss_fake.item()))


if __name__ == "__main__":
    main()
