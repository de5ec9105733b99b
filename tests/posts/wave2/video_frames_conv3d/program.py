import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class VideoDataset(Dataset):
    """clips (channels, frames, height, width) of very different durations"""

    def __init__(self, durations, num_classes=4, size=24):
        self.durations, self.num_classes, self.size = durations, num_classes, size

    def __len__(self):
        return len(self.durations)

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        frames = torch.rand(3, self.durations[idx], self.size, self.size, generator=g)
        return {'frames': frames, 'label': idx % self.num_classes}


class C3D(nn.Module):
    def __init__(self, num_classes=4, width=8):
        super().__init__()
        self.conv1 = nn.Conv3d(3, width, 3, padding=1)
        self.conv2 = nn.Conv3d(width, width * 2, 3, padding=1)
        self.conv3 = nn.Conv3d(width * 2, width * 4, 3, padding=1)
        self.head = nn.Linear(width * 4, num_classes)

    def forward(self, x):
        x = F.max_pool3d(F.relu(self.conv1(x)), (1, 2, 2))
        x = F.max_pool3d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.conv3(x))
        return self.head(x.mean(dim=(2, 3, 4)))


training = VideoDataset([30, 71, 45, 30, 52, 64, 38, 90, 41])
for i in range(3):
    sample = training[i]
    print(i, sample['frames'].size(), sample['label'])

dataloader = DataLoader(training, batch_size=2, shuffle=False, num_workers=0)
net = C3D()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for epoch in range(1):
    for i_batch, sample_batched in enumerate(dataloader):
        logits = net(sample_batched['frames'])
        loss = F.cross_entropy(logits, sample_batched['label'])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(i_batch, sample_batched['frames'].size(), loss.item())
