import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

SIZE = 32
N_CRITIC = 5
CLIP = 0.02
EPOCHS = 2


def street_scenes(n):
    """Background with a walker (bright bar) somewhere, and the walker's box."""
    torch.manual_seed(5)
    img = 0.3 * torch.randn(n, 1, SIZE, SIZE)
    box = torch.zeros(n, 1, SIZE, SIZE)
    for i in range(n):
        r, c = torch.randint(2, 14, (2,)).tolist()
        img[i, :, r + 2:r + 14, c + 6:c + 10] += 1.0
        box[i, :, r:r + 16, c:c + 16] = 1
    return img.clamp(-1, 1), box


class Painter(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, w, 4, 2, 1), nn.BatchNorm2d(w), nn.ReLU(),
            nn.Conv2d(w, 2 * w, 4, 2, 1), nn.BatchNorm2d(2 * w), nn.ReLU(),
            nn.ConvTranspose2d(2 * w, w, 4, 2, 1), nn.BatchNorm2d(w), nn.ReLU(),
            nn.ConvTranspose2d(w, 1, 4, 2, 1), nn.Tanh())

    def forward(self, scene, box):
        noisy = scene * (1 - box) + torch.rand_like(scene) * box
        return self.body(torch.cat([noisy, box], 1))


class Critic(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, w, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(w, 2 * w, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(2 * w, 1, 4, 2, 1))

    def forward(self, scene, box):
        return self.body(torch.cat([scene, box], 1)).mean(dim=(1, 2, 3))


class WalkerGAN:
    def __init__(self, lr=1e-4, lambda_l1=20.0):
        self.G = Painter()
        self.D = Critic()
        self.opt_G = torch.optim.RMSprop(self.G.parameters(), lr=lr)
        self.opt_D = torch.optim.RMSprop(self.D.parameters(), lr=lr)
        self.lambda_l1 = lambda_l1
        self.g_updates = self.d_updates = 0
        self.loss_G = self.loss_D = self.loss_l1 = torch.zeros(())

    def set_input(self, scene, box):
        self.scene, self.box = scene, box

    def forward(self):
        self.fake = self.G(self.scene, self.box)

    def backward_D(self):
        self.loss_D = self.D(self.fake.detach(), self.box).mean() - self.D(self.scene, self.box).mean()
        self.loss_D.backward()

    def backward_G(self):
        self.loss_l1 = F.l1_loss(self.fake, self.scene)
        self.loss_G = -self.D(self.fake, self.box).mean() + self.lambda_l1 * self.loss_l1
        self.loss_G.backward()

    def optimize_parameters(self, only_d):
        self.forward()
        self.opt_D.zero_grad()
        self.backward_D()
        self.opt_D.step()
        for p in self.D.parameters():
            p.data.clamp_(-CLIP, CLIP)
        self.d_updates += 1
        if only_d:
            return
        self.opt_G.zero_grad()
        self.backward_G()
        self.opt_G.step()
        self.g_updates += 1


dataset = DataLoader(TensorDataset(*street_scenes(144)), batch_size=8, shuffle=True)
model = WalkerGAN()
total_steps = 0
iter_d = 0
only_d = True

for epoch in range(1, EPOCHS + 1):
    tic = time.time()
    for scene, box in dataset:
        total_steps += 1
        model.set_input(scene, box)
        if iter_d < N_CRITIC:
            only_d = True
        else:
            only_d = False
        model.optimize_parameters(only_d)

        if total_steps % 6 == 0:
            print('(epoch %d, step %d) D: %.4f G: %.4f L1: %.4f' % (
                epoch, total_steps, model.loss_D.item(), model.loss_G.item(), model.loss_l1.item()))
        iter_d += 1
        if iter_d == N_CRITIC + 1:
            iter_d = 0
    print('End of epoch %d / %d  %.1f sec' % (epoch, EPOCHS, time.time() - tic))
print('updates: D %d, G %d' % (model.d_updates, model.g_updates))
