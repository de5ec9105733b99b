# line 41: only the first clean signal of the batch is compared with all denoised signals
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(2)


class NoisyTones(Dataset):
    def __init__(self, n=96, length=64):
        freq = torch.rand(n, 1) * 0.4 + 0.05
        self.clean = torch.sin(freq * torch.arange(length))
        self.noisy = self.clean + 0.3 * torch.randn(n, length)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return {"noisy": self.noisy[i : i + 1], "clean": self.clean[i : i + 1]}


class SpectralLoss(nn.Module):
    def forward(self, estimate, reference):
        a, b = torch.fft.rfft(estimate).abs(), torch.fft.rfft(reference).abs()
        return (a - b).abs().mean() + (estimate - reference).abs().mean()


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 12, 9, padding=4), nn.PReLU(), nn.Conv1d(12, 1, 9, padding=4)
        )

    def forward(self, wave):
        return wave - self.net(wave)


def train_step(model, opt, criterion, batch):
    estimate = model(batch["noisy"])
    reference = batch["clean"][0]
    opt.zero_grad()
    loss = criterion(estimate, reference)
    loss.backward()
    opt.step()
    return loss.item()


model, criterion = Denoiser(), SpectralLoss()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = DataLoader(NoisyTones(), batch_size=16, shuffle=True)
for epoch in range(3):
    log = [train_step(model, opt, criterion, b) for b in loader]
    print(epoch, sum(log) / len(log))
