import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class PictureDataset(Dataset):
    def __init__(self, pictures, transform=None):
        self.pictures = pictures
        self.transform = transform

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        picture = self.pictures[i].convert("RGB")
        if self.transform is not None:
            picture = self.transform(picture)
        return picture


class FeatureNet(nn.Module):
    def __init__(self, dims=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4),
            nn.ReLU(),
            nn.Conv2d(16, dims, 5, stride=4),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )

    def forward(self, x):
        return self.net(2 * x - 1)


def make_pictures(sizes, seed, brightness):
    rng = np.random.default_rng(seed)
    pictures = []
    for height, width in sizes:
        array = rng.normal(brightness, 40, size=(height, width, 3)).clip(0, 255).astype(np.uint8)
        pictures.append(Image.fromarray(array))
    return pictures


def activation_statistics(pictures, model, batch_size=8):
    transform = transforms.Compose(
        [
            transforms.ToTensor(),
        ]
    )
    loader = DataLoader(PictureDataset(pictures, transform), batch_size=batch_size, shuffle=False)
    model.eval()
    features = []
    for batch in loader:
        with torch.no_grad():
            features.append(model(batch.to(device)).cpu().double())
    features = torch.cat(features)
    return features.mean(dim=0), torch.cov(features.T)


def frechet_distance(mu1, sigma1, mu2, sigma2):
    offset = (mu1 - mu2).pow(2).sum()
    eigenvalues = torch.linalg.eigvals(sigma1 @ sigma2)
    return (offset + sigma1.trace() + sigma2.trace() - 2 * eigenvalues.sqrt().real.sum()).item()


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(5)
    real_sizes = [(int(h), int(w)) for h, w in rng.integers(300, 420, size=(40, 2))]
    fake_sizes = [(299, 299)] * 40

    model = FeatureNet().to(device)
    fake = activation_statistics(make_pictures(fake_sizes, 1, 120), model)
    print("generated images done")
    real = activation_statistics(make_pictures(real_sizes, 2, 130), model)
    print(f"FID: {frechet_distance(*real, *fake):.4f}")
