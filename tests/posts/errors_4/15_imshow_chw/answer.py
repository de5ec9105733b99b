import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from torchvision import transforms
from torchvision.utils import make_grid

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def load_batch(n=8, size=64):
    g = torch.Generator().manual_seed(11)
    raw = torch.rand(n, 3, size, size, generator=g)
    norm = transforms.Normalize(MEAN.flatten().tolist(), STD.flatten().tolist())
    return norm(raw), torch.randint(0, 4, (n,), generator=g)


def show(batch, labels, path):
    grid = make_grid(batch, nrow=4, padding=2)
    grid = (grid * STD + MEAN).clamp(0, 1)
    fig, ax = plt.subplots(figsize=(8, 4))
    ax.imshow(grid.permute(1, 2, 0).numpy())
    ax.set_title(" ".join(str(v) for v in labels.tolist()))
    ax.axis("off")
    fig.savefig(path, dpi=60)
    plt.close(fig)


if __name__ == "__main__":
    images, labels = load_batch()
    print(images.shape, labels)
    show(images, labels, "/tmp/augmentations_grid.png")
    print("saved")
