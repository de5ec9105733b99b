import argparse

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class ImageFolder(Dataset):
    """Pairs of fundus photographs and vessel masks."""

    def __init__(self, count, image_size=256):
        rng = np.random.RandomState(7)
        self.images = [Image.fromarray(rng.randint(0, 255, (image_size + 24, image_size + 24, 3), dtype=np.uint8))
                       for _ in range(count)]
        self.masks = [Image.fromarray((rng.rand(image_size + 24, image_size + 24) > 0.8).astype(np.uint8) * 255)
                      for _ in range(count)]
        self.image_size = image_size

    def __getitem__(self, index):
        size = (self.image_size, self.image_size)
        image = np.array(self.images[index].resize(size), dtype=np.float32)
        mask = np.array(self.masks[index].resize(size, Image.NEAREST), dtype=np.float32)
        image = (image / 255.0 - 0.5) / 0.5
        mask = (mask > 127).astype(np.float32)
        return torch.from_numpy(image.transpose(2, 0, 1)), torch.from_numpy(mask).unsqueeze(0)

    def __len__(self):
        return len(self.images)


class conv_block(nn.Module):
    def __init__(self, ch_in, ch_out):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(ch_in, ch_out, kernel_size=3, stride=1, padding=1, bias=True),
            nn.BatchNorm2d(ch_out),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.conv(x)


class U_Net(nn.Module):
    def __init__(self, img_ch=3, output_ch=1):
        super().__init__()
        self.pool = nn.MaxPool2d(2, 2)
        self.Conv1 = conv_block(img_ch, 64)
        self.Conv2 = conv_block(64, 96)
        self.Up2 = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(96, 64, 3, padding=1))
        self.Up_conv2 = conv_block(128, 16)
        self.Conv_1x1 = nn.Conv2d(16, output_ch, 1)

    def forward(self, x):
        x1 = self.Conv1(x)
        x2 = self.Conv2(self.pool(x1))
        d2 = self.Up2(x2)
        d2 = self.Up_conv2(torch.cat((x1, d2), dim=1))
        return self.Conv_1x1(d2)


def main(config):
    loader = DataLoader(ImageFolder(config.count, config.image_size), batch_size=config.batch_size, shuffle=True)
    unet = U_Net(img_ch=3, output_ch=1)
    optimizer = torch.optim.Adam(unet.parameters(), config.lr, [0.5, 0.999])
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(config.num_epochs):
        unet.train(True)
        epoch_loss = 0
        for images, GT in loader:
            SR = unet(images)
            loss = criterion(SR, GT)
            epoch_loss += loss.item()
            unet.zero_grad()
            loss.backward()
            optimizer.step()
        print("Epoch [%d/%d], Loss: %.4f" % (epoch + 1, config.num_epochs, epoch_loss / len(loader)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--image_size", type=int, default=256)
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=1)
    parser.add_argument("--num_epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=0.0002)
    main(parser.parse_args())
