import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from torch.utils.data import Dataset


class ClinicalEEG(Dataset):
    """10 s windows at 200 Hz from 23 channels, normal / abnormal."""

    def __init__(self, n=6, n_channels=23, n_points=2000):
        rng = np.random.RandomState(11)
        self.X = rng.randn(n, n_channels, n_points) * 50
        self.y = rng.randint(0, 2, n)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return torch.FloatTensor(self.X[index]), int(self.y[index])


class TemporalConv(nn.Module):
    def __init__(self, out_chans=8, embed_dim=200):
        super().__init__()
        self.conv = nn.Conv2d(1, out_chans, kernel_size=(1, 15), stride=(1, 8), padding=(0, 7))
        self.norm = nn.GroupNorm(4, out_chans)
        self.proj = nn.Linear(25 * out_chans, embed_dim)

    def forward(self, x):
        x = rearrange(x, 'B N A T -> B (N A) T').unsqueeze(1)
        x = F.gelu(self.norm(self.conv(x)))
        return self.proj(rearrange(x, 'B C NA T -> B NA (T C)'))


class EEGTransformer(nn.Module):
    def __init__(self, patch_size=200, embed_dim=200, depth=2, num_classes=2):
        super().__init__()
        self.patch_size = patch_size
        self.patch_embed = TemporalConv(embed_dim=embed_dim)
        layer = nn.TransformerEncoderLayer(embed_dim, 10, 400, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, x):
        x = rearrange(x, 'B N (A T) -> B N A T', T=self.patch_size)
        x = self.blocks(self.patch_embed(x))
        return self.head(x.mean(1))


def evaluate(model, dataset):
    model.eval()
    correct = 0
    with torch.no_grad():
        for i in range(len(dataset)):
            eeg, label = dataset[i]
            eeg = eeg.unsqueeze(0) / 100
            logits = model(eeg)
            correct += int(logits.argmax(-1).item() == label)
    return correct / len(dataset)


if __name__ == '__main__':
    torch.manual_seed(0)
    net = EEGTransformer()
    print('accuracy: %.3f' % evaluate(net, ClinicalEEG()))
