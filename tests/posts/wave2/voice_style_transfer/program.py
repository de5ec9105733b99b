import argparse
import time
import numpy as np
import torch
import torch.nn as nn
from torch.optim import Adam

N_FFT, N_CHANNELS, OUT_CHANNELS = 512, 257, 32


class RandomCNN(nn.Module):
    """one layer of random filters over the spectrogram"""

    def __init__(self):
        super(RandomCNN, self).__init__()
        self.conv1 = nn.Conv2d(1, OUT_CHANNELS, kernel_size=(3, 1), stride=1, padding=0)
        self.LeakyReLU = nn.LeakyReLU(0.2)
        nn.init.uniform_(self.conv1.weight, -0.06, 0.06)

    def forward(self, x):
        return self.LeakyReLU(self.conv1(x))


def gram_over_time_axis(A):
    m, n_C, n_H, n_W = A.shape
    A_unrolled = A.view(m * n_C * n_H, n_W)
    return torch.matmul(A_unrolled, A_unrolled.t())


def compute_content_loss(a_C, a_G):
    m, n_C, n_H, n_W = a_G.shape
    return 1.0 / (4 * m * n_C * n_H * n_W) * torch.sum((a_C - a_G) ** 2)


def compute_layer_style_loss(a_S, a_G):
    m, n_C, n_H, n_W = a_G.shape
    GS, GG = gram_over_time_axis(a_S), gram_over_time_axis(a_G)
    return 1.0 / (4 * (n_C ** 2) * (n_H * n_W)) * torch.sum((GS - GG) ** 2)


def spectrogram(seconds, seed):
    rng = np.random.RandomState(seed)
    frames = int(seconds * 60)
    return np.log1p(np.abs(rng.randn(64, frames))).astype(np.float32)


parser = argparse.ArgumentParser()
parser.add_argument('-i', '--iters', type=int, default=20)
parser.add_argument('--content_param', type=float, default=1e2)
parser.add_argument('--style_param', type=float, default=1.0)
args = parser.parse_args()

a_content = torch.from_numpy(spectrogram(1.0, 0))[None, None].cuda()
a_style = torch.from_numpy(spectrogram(1.0, 1))[None, None].cuda()
model = RandomCNN().cuda()
model.eval()
a_C_var = a_content.float()
a_S_var = a_style.float()
with torch.no_grad():
    a_C = model(a_C_var)
    a_S = model(a_S_var)

a_G_var = torch.randn(a_content.shape, requires_grad=True).cuda() * 1e-3
optimizer = Adam([a_G_var], lr=0.01)

start = time.time()
for iteration in range(1, args.iters + 1):
    optimizer.zero_grad()
    a_G = model(a_G_var)
    content_loss = args.content_param * compute_content_loss(a_C, a_G)
    style_loss = args.style_param * compute_layer_style_loss(a_S, a_G)
    loss = content_loss + style_loss
    loss.backward()
    optimizer.step()
    if iteration % 5 == 0:
        print('%.1fs %d%% content_loss:%.6f style_loss:%.6f' % (
            time.time() - start, iteration / args.iters * 100, content_loss.item(), style_loss.item()))
gen_spectrum = a_G_var.detach().cpu().numpy().squeeze()
print(gen_spectrum.shape)
