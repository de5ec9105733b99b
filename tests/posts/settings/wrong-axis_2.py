# line 12: attention pooling over frames of audio: the softmax is over the batch (nn.Softmax(dim=0)) and the sum over the frames
import torch
from torch import nn


class AttentivePool(nn.Module):
    """Weighted mean of the frames of a spectrogram."""

    def __init__(self, channels, hidden=16):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(channels, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.norm = nn.Softmax(dim=0)

    def forward(self, frames):
        alpha = self.norm(self.energy(frames))
        return torch.einsum("nfo,nfc->nc", alpha, frames)


class SpeakerNet(nn.Module):
    def __init__(self, mels=20, speakers=5):
        super().__init__()
        self.front = nn.Conv1d(mels, 24, kernel_size=5, padding=2)
        self.pool = AttentivePool(24)
        self.out = nn.Linear(24, speakers)

    def forward(self, mel):
        z = torch.relu(self.front(mel)).permute(0, 2, 1)
        return self.out(self.pool(z))


def synth(n, gen):
    who = torch.randint(0, 5, (n,), generator=gen)
    base = torch.randn(5, 20, generator=torch.Generator().manual_seed(99))
    mel = base[who].unsqueeze(-1) + torch.randn(n, 20, 30, generator=gen)
    return mel, who


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    net = SpeakerNet()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    ce = nn.CrossEntropyLoss()
    for it in range(40):
        mel, who = synth(16, gen)
        loss = ce(net(mel), who)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    net.eval()
    with torch.inference_mode():
        mel, who = synth(64, gen)
        print("acc", (net(mel).argmax(1) == who).float().mean().item())


if __name__ == "__main__":
    main()
