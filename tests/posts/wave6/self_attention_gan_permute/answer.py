import torch
import torch.nn as nn
from torch.nn.utils import spectral_norm

torch.manual_seed(0)


class Self_Attn(nn.Module):
    def __init__(self, in_dim):
        super(Self_Attn, self).__init__()
        self.query_conv = nn.Conv2d(in_dim, in_dim // 8, kernel_size=1)
        self.key_conv = nn.Conv2d(in_dim, in_dim // 8, kernel_size=1)
        self.value_conv = nn.Conv2d(in_dim, in_dim, kernel_size=1)
        self.gamma = nn.Parameter(torch.zeros(1))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        b, c, width, height = x.size()
        proj_query = self.query_conv(x).view(b, -1, width * height).permute(0, 2, 1)
        proj_key = self.key_conv(x).view(b, -1, width * height)
        energy = torch.bmm(proj_query, proj_key)
        attention = self.softmax(energy)
        proj_value = self.value_conv(x).view(b, -1, width * height)
        out = torch.bmm(proj_value, attention.permute(0, 2, 1))
        out = out.view(b, c, width, height)
        return self.gamma * out + x, attention


class Generator(nn.Module):
    def __init__(self, z_dim=32, conv_dim=16):
        super(Generator, self).__init__()
        self.l1 = nn.Sequential(spectral_norm(nn.ConvTranspose2d(z_dim, conv_dim * 2, 4)), nn.BatchNorm2d(conv_dim * 2), nn.ReLU())
        self.l2 = nn.Sequential(spectral_norm(nn.ConvTranspose2d(conv_dim * 2, conv_dim, 4, 2, 1)), nn.BatchNorm2d(conv_dim), nn.ReLU())
        self.attn = Self_Attn(conv_dim)
        self.last = nn.Sequential(nn.ConvTranspose2d(conv_dim, 3, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        out = self.l2(self.l1(z.view(z.size(0), -1, 1, 1)))
        out, attention = self.attn(out)
        return self.last(out), attention


class Discriminator(nn.Module):
    def __init__(self, conv_dim=16):
        super(Discriminator, self).__init__()
        self.l1 = nn.Sequential(spectral_norm(nn.Conv2d(3, conv_dim, 4, 2, 1)), nn.LeakyReLU(0.1))
        self.attn = Self_Attn(conv_dim)
        self.l2 = nn.Sequential(spectral_norm(nn.Conv2d(conv_dim, conv_dim * 2, 4, 2, 1)), nn.LeakyReLU(0.1))
        self.last = nn.Conv2d(conv_dim * 2, 1, 4)

    def forward(self, x):
        out, attention = self.attn(self.l1(x))
        return self.last(self.l2(out)).view(-1), attention


G, D = Generator(), Discriminator()
g_optimizer = torch.optim.Adam(G.parameters(), 1e-4, (0.0, 0.9))
d_optimizer = torch.optim.Adam(D.parameters(), 4e-4, (0.0, 0.9))

for step in range(5):
    real_images = torch.rand(16, 3, 16, 16) * 2 - 1
    d_out_real, _ = D(real_images)
    fake_images, _ = G(torch.randn(16, 32))
    d_out_fake, _ = D(fake_images.detach())
    d_loss = torch.relu(1.0 - d_out_real).mean() + torch.relu(1.0 + d_out_fake).mean()
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()

    fake_images, gf1 = G(torch.randn(16, 32))
    g_out_fake, _ = D(fake_images)
    g_loss = -g_out_fake.mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    print("step %d d_loss %.4f g_loss %.4f ave_gamma %.6f" % (step, d_loss.item(), g_loss.item(), G.attn.gamma.item()))
