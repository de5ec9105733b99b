import argparse

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class ImageDataset(Dataset):
    """real photos and generated images; the generators have their own sizes"""

    sizes = {'real': (128, 128), 'gan': (128, 128), 'ldm': (128, 128), 'dalle': (192, 160)}

    def __init__(self, per_source=24, transform=None):
        rng = np.random.RandomState(0)
        self.images, self.labels = [], []
        for source, (h, w) in self.sizes.items():
            for i in range(per_source):
                size = (h, w) if i % 2 == 0 else (128, 128)
                self.images.append(Image.fromarray(rng.randint(0, 255, size + (3,)).astype(np.uint8)))
                self.labels.append(0 if source == 'real' else 1)
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[index]


def roc_auc(labels, scores):
    ranks = scores.argsort().argsort() + 1
    pos, neg = (labels == 1).sum(), (labels == 0).sum()
    return (ranks[labels == 1].sum() - pos * (pos + 1) / 2) / (pos * neg)


class Detector(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.SiLU(),
            nn.Conv2d(width, width * 2, 3, 2, 1), nn.BatchNorm2d(width * 2), nn.SiLU(),
            nn.Conv2d(width * 2, width * 4, 3, 2, 1), nn.BatchNorm2d(width * 4), nn.SiLU())
        self.head = nn.Linear(width * 4, 2)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


class Ensemble:
    """wraps the orthogonal networks, the score of an image is the largest of theirs"""

    def __init__(self, num_nets=3, device='cpu'):
        self.device = device
        self.nets = [Detector().to(device).eval() for _ in range(num_nets)]
        self.transform = transforms.Compose([
            transforms.ToTensor(),
            transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        ])

    @torch.no_grad()
    def compute_scores(self, dataset, batch_size, num_workers):
        dataset.transform = self.transform
        loader = DataLoader(dataset, batch_size=batch_size, num_workers=num_workers)
        scores, labels = [], []
        for images, y in loader:
            logits = torch.stack([net(images.to(self.device)) for net in self.nets])
            scores.append((logits[..., 1] - logits[..., 0]).amax(dim=0).cpu())
            labels.append(y)
        return torch.cat(scores).numpy(), torch.cat(labels).numpy()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--batch-size', type=int, default=8)
    parser.add_argument('--num-workers', type=int, default=2)
    args = parser.parse_args()
    detector = Ensemble(device='cuda' if torch.cuda.is_available() else 'cpu')
    scores, labels = detector.compute_scores(ImageDataset(), args.batch_size, args.num_workers)
    print('AUROC: %.4f' % roc_auc(labels, scores))
