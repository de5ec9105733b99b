import numpy as np
import torch
import torch.nn as nn
import torchvision.models as models
from torch.utils.data import Dataset, DataLoader

GESTURES = ['swipe_left', 'swipe_right', 'swipe_up', 'swipe_down']
DIRS = {'swipe_left': (0, -1), 'swipe_right': (0, 1), 'swipe_up': (-1, 0), 'swipe_down': (1, 0)}


class GestureClips(Dataset):
    """Each clip: (C, T, H, W) float tensor, the layout used by Kinetics-style loaders"""

    def __init__(self, n_clips, n_frames=6, size=48, seed=0):
        self.n_clips, self.n_frames, self.size = n_clips, n_frames, size
        self.rng = np.random.default_rng(seed)
        self.clips, self.targets = [], []
        for _ in range(n_clips):
            label = int(self.rng.integers(len(GESTURES)))
            self.clips.append(self.render(label))
            self.targets.append(label)

    def render(self, label):
        s = self.size
        clip = self.rng.normal(0.2, 0.05, (self.n_frames, s, s, 3))
        dy, dx = DIRS[GESTURES[label]]
        y, x = s // 2 - 5 - dy * 15, s // 2 - 5 - dx * 15
        for t in range(self.n_frames):
            yy, xx = y + dy * 5 * t, x + dx * 5 * t
            clip[t, yy:yy + 10, xx:xx + 10] = [0.9, 0.7, 0.6]
        return clip.astype(np.float32)

    def __len__(self):
        return self.n_clips

    def __getitem__(self, idx):
        clip = torch.from_numpy(self.clips[idx]).permute(3, 0, 1, 2)
        clip = (clip - 0.45) / 0.225
        return clip.contiguous(), self.targets[idx]


class CNNLSTM(nn.Module):
    def __init__(self, num_classes, hidden=64):
        super(CNNLSTM, self).__init__()
        resnet = models.resnet18(weights=None)
        resnet.fc = nn.Sequential(nn.Linear(resnet.fc.in_features, 128), nn.ReLU())
        self.cnn = resnet
        self.lstm = nn.LSTM(128, hidden, num_layers=1, batch_first=True)
        self.fc = nn.Linear(hidden, num_classes)

    def forward(self, clips):
        b, c, t, h, w = clips.size()
        frames = clips.permute(0, 2, 1, 3, 4).view(b * t, c, h, w)
        feats = self.cnn(frames)
        out, _ = self.lstm(feats.view(b, t, -1))
        return self.fc(out[:, -1])


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for clips, target in loader:
            correct += (model(clips).argmax(1) == target).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(GestureClips(40, seed=1), batch_size=8, shuffle=True)
    val_loader = DataLoader(GestureClips(16, seed=2), batch_size=8)
    model = CNNLSTM(len(GESTURES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for epoch in range(2):
        model.train()
        losses = []
        for clips, target in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(clips), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print('epoch %d  loss %.3f  val acc %.3f' % (epoch, np.mean(losses), evaluate(model, val_loader)))


if __name__ == '__main__':
    main()
