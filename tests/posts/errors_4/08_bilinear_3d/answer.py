import numpy as np
import torch
import torch.nn.functional as F


def synthetic_heatmaps(n, size=24, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size]
    maps = []
    for _ in range(n):
        cx, cy = rng.uniform(4, size - 4, 2)
        maps.append(np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 18.0))
    return torch.tensor(np.stack(maps), dtype=torch.float32)


def upscale(cams, factor):
    """cams: (N, h, w) class activation maps -> (N, H, W) in [0, 1]."""
    cams = F.interpolate(cams.unsqueeze(1), scale_factor=factor, mode="bilinear", align_corners=False).squeeze(1)
    lo = cams.amin(dim=(-2, -1), keepdim=True)
    hi = cams.amax(dim=(-2, -1), keepdim=True)
    return (cams - lo) / (hi - lo + 1e-6)


cams = synthetic_heatmaps(6)
images = torch.rand(6, 3, 96, 96)
big = upscale(cams, 4)
overlay = 0.6 * images + 0.4 * big.reshape(6, 1, 96, 96)
peak = big.flatten(1).argmax(dim=1)
for k, p in enumerate(peak.tolist()):
    print(f"map {k}: peak at row {p // 96}, col {p % 96}")
print(overlay.mean().item())
