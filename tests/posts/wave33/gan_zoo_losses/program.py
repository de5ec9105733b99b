import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class GNet(nn.Module):
    def __init__(self, dim_latent, depth=16):
        super(GNet, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(dim_latent, depth * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(depth * 2), nn.ReLU(True),
            nn.ConvTranspose2d(depth * 2, depth, 4, 2, 1, bias=False),
            nn.BatchNorm2d(depth), nn.ReLU(True),
            nn.ConvTranspose2d(depth, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.main(z[:, :, None, None])


class DNet(nn.Module):
    def __init__(self, depth=16):
        super(DNet, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, depth, 4, 2, 1), nn.LeakyReLU(0.2, True),
            nn.Conv2d(depth, depth * 2, 4, 2, 1), nn.BatchNorm2d(depth * 2), nn.LeakyReLU(0.2, True),
            nn.Conv2d(depth * 2, 1, 4, 1, 0))

    def forward(self, x):
        return self.main(x).flatten(1)


class Logistic:
    def criterion(self, logits, status):
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(status)))


class DCGAN:
    def __init__(self, dim_latent=24, lr=2e-4):
        self.dim_latent = dim_latent
        self.netG, self.netD = GNet(dim_latent), DNet()
        self.optimizerD = torch.optim.Adam(self.netD.parameters(), lr=lr, betas=(0.5, 0.99))
        self.optimizerG = torch.optim.Adam(self.netG.parameters(), lr=lr, betas=(0.5, 0.99))
        self.loss = Logistic()

    def noise(self, n):
        return torch.randn(n, self.dim_latent)

    def optimizeParameters(self, real):
        allLosses = {}
        # Update the discriminator
        self.optimizerD.zero_grad()
        predReal = self.netD(real)
        lossReal = self.loss.criterion(predReal, True)
        fake = self.netG(self.noise(real.size(0))).detach()
        predFake = self.netD(fake)
        lossFake = self.loss.criterion(predFake, False)
        (lossReal + lossFake).backward()
        self.optimizerD.step()
        allLosses["lossD_real"] = lossFake.item()
        allLosses["lossD_fake"] = lossReal.item()

        # Update the generator
        self.optimizerG.zero_grad()
        lossG = self.loss.criterion(self.netD(self.netG(self.noise(real.size(0)))), True)
        lossG.backward()
        self.optimizerG.step()
        allLosses["lossG"] = lossG.item()
        return allLosses


class Trainer:
    def __init__(self, model, max_iter, batch_size, eval_period):
        self.model, self.max_iter = model, max_iter
        self.batch_size, self.eval_period = batch_size, eval_period
        self.running = {}
        self.profile = {"iter": []}

    def batch(self):
        grid = torch.linspace(-1, 1, 16)
        cx, cy = torch.rand(2, self.batch_size, 1, 1) - 0.5
        radius = 0.3 + 0.3 * torch.rand(self.batch_size, 1, 1)
        dist = ((grid.view(1, 1, -1) - cx) ** 2 + (grid.view(1, -1, 1) - cy) ** 2).sqrt()
        return torch.tanh(8 * (radius - dist)).unsqueeze(1)

    def update_running(self, losses):
        for name, value in losses.items():
            total, count = self.running.get(name, (0.0, 0))
            self.running[name] = (total + value, count + 1)

    def reset_running(self, it):
        self.profile["iter"].append(it)
        means = {k: t / c for k, (t, c) in self.running.items()}
        for k, v in means.items():
            self.profile.setdefault(k, []).append(v)
        print("[%5d] loss G : %.3f loss D real : %.3f loss D fake : %.3f" % (
            it, means["lossG"], means["lossD_real"], means["lossD_fake"]))
        self.running = {}

    def train(self):
        for it in range(1, self.max_iter + 1):
            self.update_running(self.model.optimizeParameters(self.batch()))
            if it % self.eval_period == 0:
                self.reset_running(it)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_iter", type=int, default=200)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--eval_period", type=int, default=50)
    opt = parser.parse_args()
    torch.manual_seed(5)
    Trainer(DCGAN(), opt.max_iter, opt.batch_size, opt.eval_period).train()
