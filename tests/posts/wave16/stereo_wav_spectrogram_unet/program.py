import os
import tempfile
import wave

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SR = 8000


def write_wav(path, audio):
    pcm = (np.clip(audio, -1, 1) * 32767).astype('<i2')
    with wave.open(path, 'wb') as f:
        f.setnchannels(pcm.shape[1])
        f.setsampwidth(2)
        f.setframerate(SR)
        f.writeframes(pcm.tobytes())


def read_wav(path):
    with wave.open(path, 'rb') as f:
        n = f.getnchannels()
        pcm = np.frombuffer(f.readframes(f.getnframes()), dtype='<i2')
    audio = pcm.reshape(-1, n).T.astype(np.float32) / 32768
    return torch.from_numpy(audio)


def record_room(folder, n_files=12, seconds=1.0):
    rng = np.random.default_rng(3)
    t = np.arange(int(SR * seconds)) / SR
    for kind in ('clean', 'noisy'):
        os.makedirs(os.path.join(folder, kind))
    for i in range(n_files):
        tone = 0.4 * np.sin(2 * np.pi * rng.uniform(150, 900) * t)
        clean = np.stack([tone, 0.8 * tone], axis=1)
        noisy = clean + 0.05 * rng.standard_normal(clean.shape)
        write_wav(os.path.join(folder, 'clean', '%03d.wav' % i), clean)
        write_wav(os.path.join(folder, 'noisy', '%03d.wav' % i), noisy)


class Specs(Dataset):
    def __init__(self, folder, n_fft=126, hop=62, frames=64):
        self.files = sorted(os.listdir(os.path.join(folder, 'clean')))
        self.folder, self.n_fft, self.hop, self.frames = folder, n_fft, hop, frames
        self.window = torch.hann_window(n_fft)

    def __len__(self):
        return len(self.files)

    def spec(self, kind, name):
        audio = read_wav(os.path.join(self.folder, kind, name))
        audio = audio[..., :(self.frames - 1) * self.hop]
        return torch.stft(audio, self.n_fft, self.hop, window=self.window, return_complex=True)

    def __getitem__(self, i):
        name = self.files[i]
        return self.spec('clean', name), self.spec('noisy', name)


class ScoreNet(nn.Module):
    """sees the noisy state and the noisy speech, each as real and imaginary part"""

    def __init__(self, width=16):
        super().__init__()
        self.conv_in = nn.Conv2d(4, width, 3, padding=1)
        self.down = nn.Conv2d(width, width, 4, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(width, width, 4, stride=2, padding=1)
        self.conv_out = nn.Conv2d(2 * width, 2, 1)

    def forward(self, x, y, sigma):
        inp = torch.stack([x.real, x.imag, y.real, y.imag], dim=1).squeeze(2)
        h = F.silu(self.conv_in(inp))
        u = F.silu(self.up(F.silu(self.down(h))))
        out = self.conv_out(torch.cat([h, u], dim=1))
        return torch.complex(out[:, :1], out[:, 1:]) / sigma[:, None, None, None]


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        record_room(folder)
        loader = DataLoader(Specs(folder), batch_size=3, shuffle=True)
        model = ScoreNet()
        opt = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(3):
            for x, y in loader:
                sigma = torch.rand(len(x)) * 0.5 + 0.05
                z = torch.randn_like(x)
                xt = x + sigma[:, None, None, None] * z
                score = model(xt, y, sigma)
                err = score * sigma[:, None, None, None] + z
                loss = err.abs().square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            print('epoch', epoch, 'loss %.4f' % loss.item())


if __name__ == '__main__':
    main()
