import os
import tempfile
import numpy as np
import torch
from PIL import Image
from torchvision import transforms
from torchvision.datasets import ImageFolder


def draw_icon(kind, size=48, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size] - size // 2
    shape = (np.hypot(xx, yy) < 16) if kind == "circle" else (np.maximum(abs(xx), abs(yy)) < 14)
    rgba = np.zeros((size, size, 4), dtype=np.uint8)
    rgba[..., :3] = rng.integers(30, 255, 3)
    rgba[..., 3] = shape * 255
    return Image.fromarray(rgba)


def build_dataset(root, per_class=10):
    for kind in ("circle", "square"):
        folder = os.path.join(root, kind)
        os.makedirs(folder, exist_ok=True)
        for i in range(per_class):
            icon = draw_icon(kind, seed=i)
            icon.save(os.path.join(folder, f"{i:02d}.jpg"), quality=90)


root = tempfile.mkdtemp()
build_dataset(root)
tf = transforms.Compose([transforms.Resize(32), transforms.ToTensor()])
data = ImageFolder(root, transform=tf)
loader = torch.utils.data.DataLoader(data, batch_size=5, shuffle=True)
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 2))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(data.classes, loss.item())
