import gzip
import struct
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NUM_CLASSES = 10


def write_idx(prefix, n, seed):
    """make files in the idx format of (Fashion)MNIST"""
    g = np.random.default_rng(seed)
    y = g.integers(0, NUM_CLASSES, n).astype(np.uint8)
    x = g.integers(0, 60, (n, 28, 28)).astype(np.uint8)
    for img, c in zip(x, y):
        img[2 * c + 2:2 * c + 8, 6:22] += 150
    with gzip.open(f"{prefix}-images-idx3-ubyte.gz", "wb") as f:
        f.write(struct.pack(">IIII", 2051, n, 28, 28) + x.tobytes())
    with gzip.open(f"{prefix}-labels-idx1-ubyte.gz", "wb") as f:
        f.write(struct.pack(">II", 2049, n) + y.tobytes())


class FashionIdx(Dataset):
    def __init__(self, prefix, transform=None):
        with gzip.open(f"{prefix}-images-idx3-ubyte.gz", "rb") as f:
            _, n, h, w = struct.unpack(">IIII", f.read(16))
            self.x = np.frombuffer(f.read(), np.uint8).reshape(n, h, w).copy()
        with gzip.open(f"{prefix}-labels-idx1-ubyte.gz", "rb") as f:
            f.read(8)
            self.y = np.frombuffer(f.read(), np.uint8).astype(np.int64)
        self.transform = transform

    def __getitem__(self, i):
        return self.transform(self.x[i]), self.y[i]

    def __len__(self):
        return len(self.y)


write_idx("train", 192, 0)
write_idx("t10k", 64, 1)

transform = transforms.Compose([
    transforms.ToPILImage(),
    transforms.Resize(64),
    transforms.ToTensor(),
    transforms.Normalize((0.286,), (0.353,)),
])

train_dl = DataLoader(FashionIdx("train", transform), batch_size=32, shuffle=True)
test_dl = DataLoader(FashionIdx("t10k", transform), batch_size=32)


def build_model():
    model = models.resnet18(weights=None)
    model.fc = nn.Linear(model.fc.in_features, NUM_CLASSES)
    return model.to(DEVICE)


def run_epoch(model, loader, loss_fn, opt=None):
    model.train(opt is not None)
    seen, loss_sum, right = 0, 0.0, 0
    with torch.set_grad_enabled(opt is not None):
        for X, y in loader:
            X, y = X.to(DEVICE), y.to(DEVICE)
            out = model(X)
            loss = loss_fn(out, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            seen += len(y)
            loss_sum += loss.item() * len(y)
            right += (out.argmax(1) == y).sum().item()
    return loss_sum / seen, right / seen


torch.manual_seed(0)
model = build_model()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(2):
    print("train", run_epoch(model, train_dl, loss_fn, opt))
    print("test ", run_epoch(model, test_dl, loss_fn))
