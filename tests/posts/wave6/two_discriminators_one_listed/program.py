import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Enhancer(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, ch, 15, padding=7), nn.PReLU(),
            nn.Conv1d(ch, ch, 15, padding=7), nn.PReLU(),
            nn.Conv1d(ch, 1, 15, padding=7),
        )

    def forward(self, noisy):
        return noisy + self.net(noisy)


class ResolutionDiscriminator(nn.Module):
    def __init__(self, n_fft):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft))
        self.convs = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, x):
        spec = torch.stft(x.squeeze(1), self.n_fft, window=self.window, return_complex=True).abs()
        return self.convs(spec.unsqueeze(1)).flatten(1)


class PeriodDiscriminator(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period
        self.convs = nn.Sequential(nn.Conv2d(1, 8, (5, 1), stride=(3, 1)), nn.LeakyReLU(0.1), nn.Conv2d(8, 1, (3, 1)))

    def forward(self, x):
        b, c, t = x.shape
        x = x[..., : t - t % self.period]
        return self.convs(x.view(b, c, -1, self.period)).flatten(1)


class MultiDiscriminatorLoss(nn.Module):
    def __init__(self, discriminators):
        super().__init__()
        self.discriminators = nn.ModuleList(discriminators)

    def disc_loss(self, real, fake):
        return sum(F.mse_loss(d(real), torch.ones_like(d(real))) + (d(fake) ** 2).mean() for d in self.discriminators)

    def gen_loss(self, fake):
        return sum(((d(fake) - 1) ** 2).mean() for d in self.discriminators)


class EnhancementGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = Enhancer()
        self.loss_mrd = MultiDiscriminatorLoss([ResolutionDiscriminator(n) for n in (64, 128)])
        self.loss_mpd = MultiDiscriminatorLoss([PeriodDiscriminator(p) for p in (2, 3, 5)])

    def configure_optimizers(self):
        params_gen = list(self.generator.parameters())
        params_disc = list(self.loss_mrd.parameters()) + list(self.loss_mrd.parameters())
        opt_gen = torch.optim.AdamW(params_gen, lr=2e-4)
        opt_disc = torch.optim.AdamW(params_disc, lr=2e-4)
        return opt_gen, opt_disc

    def training_step(self, clean, noisy, opt_gen, opt_disc):
        fake = self.generator(noisy)
        loss_d = self.loss_mrd.disc_loss(clean, fake.detach()) + self.loss_mpd.disc_loss(clean, fake.detach())
        opt_disc.zero_grad()
        loss_d.backward()
        opt_disc.step()

        loss_g = self.loss_mrd.gen_loss(fake) + self.loss_mpd.gen_loss(fake) + 10 * F.l1_loss(fake, clean)
        opt_gen.zero_grad()
        loss_g.backward()
        opt_gen.step()
        return loss_g.item(), loss_d.item()


model = EnhancementGAN()
opt_gen, opt_disc = model.configure_optimizers()
for step in range(5):
    clean = torch.sin(torch.linspace(0, 60, 1200)).repeat(4, 1, 1)
    noisy = clean + 0.3 * torch.randn_like(clean)
    loss_g, loss_d = model.training_step(clean, noisy, opt_gen, opt_disc)
    print("step %d generator %.3f discriminators %.3f" % (step, loss_g, loss_d))
