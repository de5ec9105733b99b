import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

N_FRAMES, N_FEATURES = 64, 48


class VideoData(Dataset):
    """features of the frames of a video and the frames that belong to its summary"""

    def __init__(self, n=20):
        rng = np.random.RandomState(0)
        self.features, self.labels = [], []
        for _ in range(n):
            label = (rng.rand(N_FRAMES) < 0.2).astype(np.int64)
            feature = rng.randn(N_FRAMES, N_FEATURES).astype(np.float32)
            feature[label == 1, :6] += 1.5
            self.features.append(feature)
            self.labels.append(label)

    def __len__(self):
        return len(self.features)

    def __getitem__(self, index):
        feature = torch.from_numpy(self.features[index]).reshape(N_FEATURES, N_FRAMES)
        label = torch.from_numpy(self.labels[index])
        return feature, label


class FCSN(nn.Module):
    def __init__(self, n_class=2):
        super(FCSN, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(N_FEATURES, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU())
        self.pool = nn.MaxPool1d(2)
        self.conv2 = nn.Sequential(nn.Conv1d(32, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU())
        self.deconv = nn.ConvTranspose1d(32, 32, 2, stride=2)
        self.score = nn.Conv1d(64, n_class, 1)

    def forward(self, x):
        h1 = self.conv1(x)
        h2 = self.deconv(self.conv2(self.pool(h1)))
        return self.score(torch.cat([h1, h2], dim=1))


torch.manual_seed(0)
loader = DataLoader(VideoData(), batch_size=5, shuffle=True)
model = FCSN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.4, 1.6]))

for epoch in range(8):
    hit = total = 0
    for feature, label in loader:
        optimizer.zero_grad()
        score = model(feature)
        loss = criterion(score, label)
        loss.backward()
        optimizer.step()
        hit += (score.argmax(1) == label).sum().item()
        total += label.numel()
    print("epoch {}: loss {:.3f}, frames right {:.3f}".format(epoch, loss.item(), hit / total))
