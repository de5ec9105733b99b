import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

H, W = 512, 512
batch_size = 2


class DriveDataset(Dataset):
    """Fundus images and vessel masks, cut to (H, W)."""

    def __init__(self, n_samples=4):
        rng = np.random.RandomState(42)
        self.images = rng.randint(0, 256, (n_samples, 584, 565, 3)).astype(np.uint8)
        self.masks = (rng.rand(n_samples, 584, 565) > 0.9).astype(np.float32)

    def __getitem__(self, index):
        image = self.images[index][:H, :W] / 255.0
        image = np.transpose(image, (2, 0, 1)).astype(np.float32)
        mask = self.masks[index][:H, :W]
        return torch.from_numpy(image), torch.from_numpy(mask)[None]

    def __len__(self):
        return len(self.images)


class conv_block(nn.Module):
    def __init__(self, in_c, out_c):
        super().__init__()
        self.conv1 = nn.Conv2d(in_c, out_c, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm2d(out_c)
        self.relu = nn.ReLU()

    def forward(self, inputs):
        return self.relu(self.bn1(self.conv1(inputs)))


class encoder_block(nn.Module):
    def __init__(self, in_c, out_c):
        super().__init__()
        self.conv = conv_block(in_c, out_c)
        self.pool = nn.MaxPool2d((2, 2))

    def forward(self, inputs):
        x = self.conv(inputs)
        return x, self.pool(x)


class decoder_block(nn.Module):
    def __init__(self, in_c, out_c):
        super().__init__()
        self.up = nn.ConvTranspose2d(in_c, out_c, kernel_size=2, stride=2, padding=0)
        self.conv = conv_block(out_c + out_c, out_c)

    def forward(self, inputs, skip):
        x = self.up(inputs)
        x = torch.cat([x, skip], axis=1)
        return self.conv(x)


class build_unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1, self.e2 = encoder_block(3, 8), encoder_block(8, 16)
        self.e3, self.e4 = encoder_block(16, 32), encoder_block(32, 64)
        self.b = conv_block(64, 128)
        self.d1, self.d2 = decoder_block(128, 64), decoder_block(64, 32)
        self.d3, self.d4 = decoder_block(32, 16), decoder_block(16, 8)
        self.outputs = nn.Conv2d(8, 1, kernel_size=1, padding=0)

    def forward(self, inputs):
        s1, p1 = self.e1(inputs)
        s2, p2 = self.e2(p1)
        s3, p3 = self.e3(p2)
        s4, p4 = self.e4(p3)
        d = self.d2(self.d1(self.b(p4), s4), s3)
        return self.outputs(self.d4(self.d3(d, s2), s1))


model = build_unet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
loss_fn = nn.BCEWithLogitsLoss()
for x, y in DataLoader(DriveDataset(), batch_size=batch_size, shuffle=True):
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    print(f'train loss: {loss.item():.3f}')
