import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

palette = [(128, 128, 128), (128, 0, 0), (192, 192, 128), (128, 64, 128), (0, 0, 192), (128, 128, 0),
           (192, 128, 128), (64, 64, 128), (64, 0, 128), (64, 64, 0), (0, 128, 192), (0, 0, 0)]


class CamVid(Dataset):
    def __init__(self, n=32, size=64):
        rng = np.random.RandomState(0)
        index = rng.randint(0, len(palette), (n, size // 16, size // 16)).repeat(16, 1).repeat(16, 2)
        self.rgb_masks = np.array(palette, dtype=np.uint8)[index]
        self.images = np.clip(self.rgb_masks + rng.randint(-20, 20, self.rgb_masks.shape), 0, 255).astype(np.uint8)

    def __len__(self):
        return len(self.images)

    def mask_to_class(self, rgb):
        layers = []
        for colour in palette:
            layers.append(np.all(rgb == np.array(colour), axis=-1))
        return np.argmax(np.stack(layers, axis=0), axis=0).astype(np.int64)

    def __getitem__(self, idx):
        image = torch.from_numpy(self.images[idx]).permute(2, 0, 1).float() / 255
        mask = torch.from_numpy(self.mask_to_class(self.rgb_masks[idx]))
        return image, mask


def double_conv(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True),
        nn.Conv2d(out_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_class):
        super().__init__()
        self.dconv_down1 = double_conv(3, 16)
        self.dconv_down2 = double_conv(16, 32)
        self.maxpool = nn.MaxPool2d(2)
        self.upsample = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.dconv_up1 = double_conv(48, 16)
        self.conv_last = nn.Conv2d(16, n_class, 1)

    def forward(self, x):
        conv1 = self.dconv_down1(x)
        x = self.dconv_down2(self.maxpool(conv1))
        x = torch.cat([self.upsample(x), conv1], dim=1)
        return self.conv_last(self.dconv_up1(x))


torch.manual_seed(0)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
train_loader = DataLoader(CamVid(), batch_size=8, shuffle=True)
model = UNet(n_class=12).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    model.train()
    running_loss = 0.0
    for images, masks in train_loader:
        images, masks = images.to(device), masks.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, masks)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * images.size(0)
    print('Epoch: {} - Loss: {:.6f}'.format(epoch + 1, running_loss / len(train_loader.dataset)))
