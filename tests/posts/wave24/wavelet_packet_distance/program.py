import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_images(n, size=16, blur=True, seed=0):
    g = torch.Generator().manual_seed(seed)
    images = torch.rand(n, 3, size, size, generator=g)
    if blur:
        images = F.avg_pool2d(F.pad(images, (1, 1, 1, 1), mode="reflect"), 3, stride=1)
    return images


def haar_filters():
    lo = torch.tensor([1.0, 1.0]) / 2 ** 0.5
    hi = torch.tensor([1.0, -1.0]) / 2 ** 0.5
    return torch.stack([torch.outer(a, b) for a in (lo, hi) for b in (lo, hi)])


def haar_step(x):
    b, c, h, w = x.shape
    filters = haar_filters().to(x).unsqueeze(1)
    bands = F.conv2d(x.reshape(b * c, 1, h, w), filters, stride=2)
    return [bands[:, i].reshape(b, c, h // 2, w // 2) for i in range(4)]


def wavelet_packets(x, levels=2):
    nodes = [x]
    for _ in range(levels):
        nodes = [band for node in nodes for band in haar_step(node)]
    return torch.stack(nodes)


def packet_features(loader, device):
    features = []
    for (images,) in loader:
        packets = wavelet_packets(images.to(device))
        n_packets, batch = packets.shape[:2]
        flat = packets.reshape(batch, n_packets, -1)
        features.append(flat.cpu())
    return torch.cat(features)


def sqrt_trace(cov_a, cov_b):
    eigenvalues = np.linalg.eigvals(cov_a @ cov_b)
    return np.sqrt(np.clip(eigenvalues.real, 0, None)).sum()


def frechet(a, b):
    mean_a, mean_b = a.mean(axis=0), b.mean(axis=0)
    cov_a, cov_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    gap = ((mean_a - mean_b) ** 2).sum()
    return gap + np.trace(cov_a) + np.trace(cov_b) - 2 * sqrt_trace(cov_a, cov_b)


def packet_distance(feat_a, feat_b):
    feat_a, feat_b = feat_a.double().numpy(), feat_b.double().numpy()
    return np.array([frechet(feat_a[:, p], feat_b[:, p]) for p in range(feat_a.shape[1])])


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    real = DataLoader(TensorDataset(make_images(512, blur=False, seed=0)), batch_size=64)
    fake = DataLoader(TensorDataset(make_images(512, blur=True, seed=1)), batch_size=64)

    real_features = packet_features(real, device)
    fake_features = packet_features(fake, device)
    print("features:", tuple(real_features.shape))
    print("packet means:", np.round(real_features.mean(dim=(0, 2)).numpy(), 3))

    distances = packet_distance(real_features, fake_features)
    print("per packet:", np.round(distances, 3))
    print(f"mean distance: {distances.mean():.4f}")


if __name__ == "__main__":
    main()
