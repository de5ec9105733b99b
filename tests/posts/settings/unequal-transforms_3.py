# line 25: the log-mel patches are standardised only under `if self.training_split`, so the validation patches come in other units
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class LogMelClips(Dataset):
    MEAN, STD = -4.0, 2.5

    def __init__(self, clips, labels, training_split):
        self.clips, self.labels = clips, labels
        self.training_split = training_split

    def mask_band(self, mel):
        start = int(torch.randint(0, mel.size(0) - 4, ()))
        mel[start : start + 4] = 0.0
        return mel

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        mel = torch.log(self.clips[i] + 1e-5)
        if self.training_split:
            mel = (mel - self.MEAN) / self.STD
            mel = self.mask_band(mel)
        return mel, self.labels[i]


def fake_mels(n):
    labels = torch.randint(4, (n,))
    energy = 0.02 * torch.rand(n, 24, 20)
    for k in range(4):
        energy[labels == k, 6 * k : 6 * k + 6] += 0.03
    return energy, labels


torch.manual_seed(36)
train = DataLoader(LogMelClips(*fake_mels(240), training_split=True), batch_size=24, shuffle=True)
valid = DataLoader(LogMelClips(*fake_mels(72), training_split=False), batch_size=24)
net = nn.Sequential(nn.Conv1d(24, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    net.train()
    for mel, label in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(mel), label).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(mel).argmax(1) == label).sum().item() for mel, label in valid)
    print(f"epoch {epoch}: validation accuracy {right / len(valid.dataset):.3f}")
