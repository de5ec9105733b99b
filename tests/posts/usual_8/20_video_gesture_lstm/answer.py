import torch
import torch.nn as nn
import torch.optim as optim
import numpy as np
from torch.utils.data import Dataset, DataLoader
from torchvision.models import resnet18

# Gesture recognition from short clips (CNN per frame + LSTM over the frames)

GESTURES = ['swipe_left', 'swipe_right', 'swipe_up', 'swipe_down']
DIRS = np.array([[0, -1], [0, 1], [-1, 0], [1, 0]])


class ClipDataset(Dataset):
    def __init__(self, num_clips, num_frames=8, size=32, seed=0):
        rng = np.random.RandomState(seed)
        self.clips = np.zeros((num_clips, num_frames, 3, size, size), dtype=np.uint8)
        self.labels = rng.randint(0, len(GESTURES), num_clips)
        for i, lab in enumerate(self.labels):
            pos = size / 2 - DIRS[lab] * num_frames + rng.uniform(-3, 3, 2)
            shade = rng.randint(150, 255, 3)
            self.clips[i] = rng.randint(0, 60, self.clips[i].shape)
            for t in range(num_frames):
                r, c = np.clip(pos, 0, size - 6).astype(int)
                self.clips[i, t, :, r:r + 6, c:c + 6] = shade[:, None, None]
                pos = pos + DIRS[lab] * 2
        self.mean = torch.tensor([0.13, 0.13, 0.13]).view(1, 3, 1, 1)
        self.std = torch.tensor([0.14, 0.14, 0.14]).view(1, 3, 1, 1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        clip = torch.from_numpy(self.clips[index]).float() / 255.
        return (clip - self.mean) / self.std, torch.tensor(self.labels[index])


class FrameEncoder(nn.Module):
    def __init__(self, embed_size):
        super(FrameEncoder, self).__init__()
        backbone = resnet18(weights=None)
        self.stem = nn.Sequential(backbone.conv1, backbone.bn1, backbone.relu, backbone.maxpool,
                                  backbone.layer1, backbone.layer2)
        self.fc = nn.Linear(128 * 4 * 4, embed_size)

    def forward(self, x):
        b, t, c, h, w = x.shape
        feats = self.stem(x.reshape(b * t, c, h, w))
        feats = self.fc(feats.flatten(1))
        return feats.view(b, t, -1)


class GestureNet(nn.Module):
    def __init__(self, num_classes, embed_size=64, hidden_size=64):
        super(GestureNet, self).__init__()
        self.encoder = FrameEncoder(embed_size)
        self.norm = nn.LayerNorm(embed_size)
        self.temporal = nn.LSTM(embed_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(hidden_size, num_classes)

    def forward(self, clips):
        seq = self.encoder(clips)
        seq, _ = self.temporal(self.norm(seq))
        return self.classifier(self.dropout(seq[:, -1]))


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running_loss, seen = 0.0, 0
    for clips, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(clips), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * labels.size(0)
        seen += labels.size(0)
    return running_loss / seen


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for clips, labels in loader:
            correct += (model(clips).argmax(dim=1) == labels).sum().item()
    return 100.0 * correct / len(loader.dataset)


torch.manual_seed(0)
train_loader = DataLoader(ClipDataset(96), batch_size=16, shuffle=True)
val_loader = DataLoader(ClipDataset(32, seed=1), batch_size=16)
model = GestureNet(len(GESTURES))
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    loss = train_one_epoch(model, train_loader, criterion, optimizer)
    print('Epoch {}: loss {:.4f}, val acc {:.1f} %'.format(epoch + 1, loss, evaluate(model, val_loader)))
