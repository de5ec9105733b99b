import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class BatchPatcher(object):
    """Cuts a batch of images into overlapping patches and merges them again."""

    def __init__(self, patchsize, overlap):
        self.patchsize = patchsize
        self.stride = int(patchsize * (1 - overlap))

    def _positions(self, size):
        pos = list(range(0, size - self.patchsize + 1, self.stride))
        if pos[-1] != size - self.patchsize:
            pos.append(size - self.patchsize)
        return pos

    def extract(self, image):
        h, w = image.shape[:2]
        p = self.patchsize
        patches, indices = [], []
        for i in self._positions(h):
            for j in self._positions(w):
                patches.append(image[i:i + p, j:j + p])
                indices.append((i, i + p, j, j + p))
        return patches, indices

    def extract_batch(self, batch, typ='torch'):
        if typ == 'torch':
            batch = batch.permute(0, 2, 3, 1)
        all_patches, indices = [], None
        for image in batch:
            patches, indices = self.extract(image)
            all_patches.append(patches)
        self.shape = tuple(batch.shape[1:3])
        return all_patches, indices

    def merge_batch(self, all_patches, indices):
        merged = []
        h, w = self.shape
        for patches in all_patches:
            out = torch.zeros(h, w, patches[0].shape[-1])
            count = torch.zeros(h, w, 1)
            for patch, (i0, i1, j0, j1) in zip(patches, indices):
                out[i0:i1, j0:j1] += patch
                count[i0:i1, j0:j1] += 1
            merged.append(out / count)
        return torch.stack(merged).permute(0, 3, 1, 2)


class Denoiser(nn.Module):
    def __init__(self, ch=3, width=16):
        super(Denoiser, self).__init__()
        self.net = nn.Sequential(
            nn.Conv2d(ch, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, ch, 3, padding=1),
        )

    def forward(self, x):
        return x - self.net(x)


def smooth_images(n, size=80):
    base = torch.rand(n, 3, 10, 10)
    return F.interpolate(base, size=(size, size), mode='bilinear', align_corners=False)


torch.manual_seed(3)
np.random.seed(3)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)

clean = smooth_images(16, 32)
for step in range(40):
    noisy = clean + 0.1 * torch.randn_like(clean)
    loss = F.mse_loss(model(noisy), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
print('train mse %.5f' % loss.item())

emp = BatchPatcher(patchsize=32, overlap=0.25)
scene = smooth_images(4)
scene_noisy = scene + 0.1 * torch.randn_like(scene)
patches, idx = emp.extract_batch(scene_noisy, typ='torch')
print(len(patches), 'images,', len(patches[0]), 'patches each')

model.eval()
restored = []
with torch.no_grad():
    for image_patches in patches:
        x = torch.stack(image_patches).permute(0, 3, 1, 2)
        y = model(x).permute(0, 2, 3, 1)
        restored.append(list(y))
result = emp.merge_batch(restored, idx)
print('scene mse before %.5f after %.5f' % (F.mse_loss(scene_noisy, scene), F.mse_loss(result, scene)))
