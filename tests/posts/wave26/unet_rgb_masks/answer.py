import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PALETTE = np.array([[0, 0, 0], [220, 40, 40], [40, 200, 60], [60, 60, 230]], dtype=np.uint8)


def make_samples(n, size=64, seed=0):
    """Images with coloured blobs and the label pictures that belong to them."""
    rng = np.random.default_rng(seed)
    images, masks = [], []
    for _ in range(n):
        classes = np.zeros((size, size), dtype=np.int64)
        for c in (1, 2, 3):
            y, x = rng.integers(8, size - 24, 2)
            classes[y:y + 16, x:x + 16] = c
        mask = PALETTE[classes]
        noise = rng.normal(0, 25, mask.shape)
        image = np.clip(mask.astype(np.float32) * 0.7 + 60 + noise, 0, 255)
        images.append(image.astype(np.uint8))
        masks.append(mask)
    return images, masks


def normalize_01(image):
    return (image - image.min()) / (image.max() - image.min())


class SegmentationDataSet(Dataset):
    def __init__(self, inputs, targets):
        self.inputs = inputs
        self.targets = targets
        self.inputs_dtype = torch.float32
        self.targets_dtype = torch.long

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        x = normalize_01(self.inputs[index].astype(np.float32))
        y = self.targets[index]
        x = np.moveaxis(x, -1, 0)
        y = (y[..., None, :] == PALETTE).all(axis=-1).argmax(axis=-1)
        x = torch.from_numpy(x).type(self.inputs_dtype)
        y = torch.from_numpy(y).type(self.targets_dtype)
        return x, y


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, in_channels=3, out_channels=2, start_filters=8):
        super().__init__()
        f = start_filters
        self.enc1 = conv_block(in_channels, f)
        self.enc2 = conv_block(f, 2 * f)
        self.bottom = conv_block(2 * f, 4 * f)
        self.pool = nn.MaxPool2d(2)
        self.up2 = nn.ConvTranspose2d(4 * f, 2 * f, 2, stride=2)
        self.dec2 = conv_block(4 * f, 2 * f)
        self.up1 = nn.ConvTranspose2d(2 * f, f, 2, stride=2)
        self.dec1 = conv_block(2 * f, f)
        self.out = nn.Conv2d(f, out_channels, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        b = self.bottom(self.pool(e2))
        d2 = self.dec2(torch.cat([self.up2(b), e2], dim=1))
        d1 = self.dec1(torch.cat([self.up1(d2), e1], dim=1))
        return self.out(d1)


def main():
    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, masks = make_samples(16)
    loader = DataLoader(SegmentationDataSet(images, masks), batch_size=2, shuffle=True)
    model = UNet(in_channels=3, out_channels=len(PALETTE)).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        model.train()
        losses = []
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
        print("epoch %d: %.4f" % (epoch + 1, np.mean(losses)))


if __name__ == "__main__":
    main()
