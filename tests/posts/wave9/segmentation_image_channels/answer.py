import argparse
import random

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch import optim
from torch.utils import data
from torchvision import transforms as T
from torchvision.transforms import functional as F


class ImageFolder(data.Dataset):
    """slices of the scanner and their masks, both as 8 bit images"""

    def __init__(self, n, image_size=128, mode='train', augmentation_prob=0.4):
        rng = np.random.RandomState(0 if mode == 'train' else 1)
        self.scans = [Image.fromarray(rng.randint(0, 255, (150, 150)).astype(np.uint8)) for _ in range(n)]
        self.masks = [Image.fromarray((rng.rand(150, 150) > 0.7).astype(np.uint8) * 255) for _ in range(n)]
        self.image_size = image_size
        self.mode = mode
        self.augmentation_prob = augmentation_prob

    def __getitem__(self, index):
        image = self.scans[index].convert('RGB')
        GT = self.masks[index]

        if self.mode == 'train' and random.random() <= self.augmentation_prob:
            if random.random() < 0.5:
                image, GT = F.hflip(image), F.hflip(GT)
            image = T.ColorJitter(brightness=0.2, contrast=0.2)(image)

        Transform = T.Compose([T.Resize((self.image_size, self.image_size)), T.ToTensor()])
        image = Transform(image)
        GT = Transform(GT)

        Norm_ = T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
        image = Norm_(image)
        return image, GT

    def __len__(self):
        return len(self.scans)


def conv_block(ch_in, ch_out):
    return nn.Sequential(nn.Conv2d(ch_in, ch_out, 3, padding=1), nn.BatchNorm2d(ch_out), nn.ReLU(inplace=True),
                         nn.Conv2d(ch_out, ch_out, 3, padding=1), nn.BatchNorm2d(ch_out), nn.ReLU(inplace=True))


class U_Net(nn.Module):
    def __init__(self, img_ch=3, output_ch=1, width=16):
        super().__init__()
        self.Maxpool = nn.MaxPool2d(2)
        self.Up = nn.Upsample(scale_factor=2)
        self.Conv1 = conv_block(img_ch, width)
        self.Conv2 = conv_block(width, width * 2)
        self.Conv3 = conv_block(width * 2, width * 4)
        self.Up_conv3 = conv_block(width * 6, width * 2)
        self.Up_conv2 = conv_block(width * 3, width)
        self.Conv_1x1 = nn.Conv2d(width, output_ch, 1)

    def forward(self, x):
        x1 = self.Conv1(x)
        x2 = self.Conv2(self.Maxpool(x1))
        x3 = self.Conv3(self.Maxpool(x2))
        d3 = self.Up_conv3(torch.cat((x2, self.Up(x3)), dim=1))
        d2 = self.Up_conv2(torch.cat((x1, self.Up(d3)), dim=1))
        return self.Conv_1x1(d2)


def main(config):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    train_loader = data.DataLoader(ImageFolder(12, config.image_size), batch_size=config.batch_size, shuffle=True,
                                   num_workers=config.num_workers)
    unet = U_Net(img_ch=config.img_ch, output_ch=config.output_ch).to(device)
    optimizer = optim.Adam(unet.parameters(), config.lr, [0.5, 0.999])
    criterion = nn.BCELoss()

    for epoch in range(config.num_epochs):
        unet.train()
        epoch_loss = 0.
        for images, GT in train_loader:
            images, GT = images.to(device), GT.to(device)
            SR_probs = torch.sigmoid(unet(images))
            SR_flat = SR_probs.view(SR_probs.size(0), -1)
            GT_flat = GT.view(GT.size(0), -1)
            loss = criterion(SR_flat, GT_flat)
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('Epoch [%d/%d], Loss: %.4f' % (epoch + 1, config.num_epochs, epoch_loss / len(train_loader)))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--image_size', type=int, default=64)
    parser.add_argument('--img_ch', type=int, default=3)
    parser.add_argument('--output_ch', type=int, default=1)
    parser.add_argument('--num_epochs', type=int, default=2)
    parser.add_argument('--batch_size', type=int, default=4)
    parser.add_argument('--num_workers', type=int, default=0)
    parser.add_argument('--lr', type=float, default=0.0002)
    main(parser.parse_args())
