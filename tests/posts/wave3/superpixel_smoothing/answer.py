import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class SegmentationDataset(Dataset):
    def __init__(self, n=20, size=60, transform=None):
        rng = np.random.RandomState(0)
        self.images = rng.randint(0, 256, (n, size, size, 3)).astype(np.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = self.images[idx]
        target = np.repeat(np.repeat(image[::4, ::4], 4, axis=0), 4, axis=1)
        sample = {'input': image, 'target': target}
        if self.transform:
            sample = self.transform(sample)
        return sample


class RandomFlip(object):
    def __call__(self, sample):
        if np.random.rand() < 0.5:
            sample = {k: np.ascontiguousarray(v[:, ::-1]) for k, v in sample.items()}
        return sample


class ToTensor(object):
    """numpy image H x W x C to torch image C x H x W"""

    def __call__(self, sample):
        image, target = sample['input'], sample['target']
        image = torch.from_numpy(image.transpose((2, 0, 1)).copy()).float() / 255
        target = torch.from_numpy(target.transpose((2, 0, 1)).copy()).float() / 255

        return {'input': image, 'target': target}


class CAN(nn.Module):
    def __init__(self, d=5, width=16):
        super().__init__()
        layers, ch = [], 3
        for s in range(d):
            layers += [nn.Conv2d(ch, width, 3, padding=2 ** s, dilation=2 ** s), nn.BatchNorm2d(width), nn.LeakyReLU(0.2)]
            ch = width
        self.net = nn.Sequential(*layers, nn.Conv2d(width, 3, 1))

    def forward(self, x):
        return self.net(x)


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
dataset = SegmentationDataset(transform=transforms.Compose([RandomFlip(), ToTensor()]))
train_loader = DataLoader(dataset, batch_size=8, shuffle=True)
net = CAN().to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(2):
    running_loss = 0.0
    for i, sample in enumerate(train_loader):
        input_img = sample['input'].to(device)
        segm_true = sample['target'].to(device)
        optimizer.zero_grad()
        loss = criterion(net(input_img), segm_true)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print('epoch {}: {:.4f}'.format(epoch, running_loss / len(train_loader)))
