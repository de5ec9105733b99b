# line 20: the logarithm of a spectrogram with silent parts is taken without a small number
import torch
from torch import nn


class LogMel(nn.Module):
    def __init__(self, n_fft=64, hop=32, bands=12):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        edges = torch.linspace(0, n_fft // 2 + 1, bands + 1).long()
        bank = torch.zeros(bands, n_fft // 2 + 1)
        for b in range(bands):
            bank[b, edges[b] : edges[b + 1]] = 1
        self.register_buffer("bank", bank)

    def forward(self, wave):
        spec = torch.stft(wave, self.n_fft, self.hop, window=self.window, return_complex=True)
        energy = self.bank @ spec.abs().pow(2)
        return 10 * torch.log10(energy)


class SoundNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = LogMel()
        self.conv = nn.Conv1d(12, 16, 3)
        self.fc = nn.Linear(16, 3)

    def forward(self, wave):
        return self.fc(torch.relu(self.conv(self.front(wave))).mean(-1))


torch.manual_seed(38)
label = torch.randint(3, (120,))
time = torch.arange(640)
wave = torch.sin((0.2 + 0.3 * label[:, None]) * time) + 0.05 * torch.randn(120, 640)
onset = torch.randint(0, 400, (120, 1))
wave = torch.where(time < onset, torch.zeros(()), wave)
net = SoundNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for rows in torch.randperm(120).split(24):
        loss = nn.functional.cross_entropy(net(wave[rows]), label[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
