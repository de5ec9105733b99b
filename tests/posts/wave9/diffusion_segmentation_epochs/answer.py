import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset


class LesionDataset(Dataset):
    """dermoscopic images and the masks of the lesions"""

    def __init__(self, n=44, image_size=32):
        torch.manual_seed(0)
        yy, xx = torch.meshgrid(torch.arange(image_size), torch.arange(image_size), indexing='ij')
        cx, cy = torch.rand(2, n, 1, 1) * image_size
        r = torch.rand(n, 1, 1) * 6 + 4
        self.masks = (((xx - cx) ** 2 + (yy - cy) ** 2).sqrt() < r).float().unsqueeze(1)
        self.images = 0.8 - 0.5 * self.masks + 0.1 * torch.rand(n, 3, image_size, image_size)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


class CondUnet(nn.Module):
    def __init__(self, dim=32, mask_channels=1, input_img_channels=3):
        super().__init__()
        self.time_mlp = nn.Sequential(nn.Linear(1, dim), nn.GELU(), nn.Linear(dim, dim))
        self.cond = nn.Sequential(nn.Conv2d(input_img_channels, dim, 3, padding=1), nn.SiLU(), nn.Conv2d(dim, dim, 3, padding=1))
        self.init_conv = nn.Conv2d(mask_channels, dim, 7, padding=3)
        self.down = nn.Sequential(nn.Conv2d(dim, dim * 2, 4, 2, 1), nn.GroupNorm(8, dim * 2), nn.SiLU(),
                                  nn.Conv2d(dim * 2, dim * 2, 3, padding=1), nn.SiLU())
        self.up = nn.ConvTranspose2d(dim * 2, dim, 4, 2, 1)
        self.final_conv = nn.Sequential(nn.Conv2d(dim * 2, dim, 3, padding=1), nn.SiLU(), nn.Conv2d(dim, mask_channels, 1))

    def forward(self, x, time, cond):
        h = self.init_conv(x) + self.cond(cond) + self.time_mlp(time[:, None])[:, :, None, None]
        return self.final_conv(torch.cat((h, self.up(self.down(h))), dim=1))


class MedSegDiff(nn.Module):
    def __init__(self, model, timesteps=100):
        super().__init__()
        self.model, self.num_timesteps = model, timesteps
        betas = torch.linspace(1e-3, 0.2, timesteps)
        self.register_buffer('alphas_cumprod', torch.cumprod(1. - betas, dim=0))

    def forward(self, mask, cond_img):
        mask = mask * 2 - 1
        t = torch.randint(0, self.num_timesteps, (mask.shape[0],), device=mask.device)
        a = self.alphas_cumprod[t][:, None, None, None]
        noise = torch.randn_like(mask)
        x = a.sqrt() * mask + (1 - a).sqrt() * noise
        return F.mse_loss(self.model(x, t / self.num_timesteps, cond_img), noise)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--batch_size', type=int, default=8)
    parser.add_argument('--learning_rate', type=float, default=5e-4)
    parser.add_argument('--image_size', type=int, default=32)
    return parser.parse_args()


def main():
    args = parse_args()
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    data_loader = DataLoader(LesionDataset(image_size=args.image_size), batch_size=args.batch_size, shuffle=True)
    diffusion = MedSegDiff(CondUnet()).to(device)
    optimizer = AdamW(diffusion.parameters(), lr=args.learning_rate, betas=(0.9, 0.999), weight_decay=1e-6)

    for epoch in range(args.epochs):
        running_loss = 0.0
        print('Epoch {}/{}'.format(epoch + 1, args.epochs))
        for (img, mask) in data_loader:
            img, mask = img.to(device), mask.to(device)
            loss = diffusion(mask, img)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * img.size(0)
        epoch_loss = running_loss / len(data_loader.dataset)
        print('Training Loss : {:.4f}'.format(epoch_loss))


if __name__ == '__main__':
    main()
