import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def conv_unit(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1),
        nn.BatchNorm2d(c_out),
        nn.ReLU(inplace=True),
    )


def make_stage(c_in, c_out, n_convs):
    units = [conv_unit(c_in, c_out)]
    for _ in range(n_convs - 1):
        units.append(conv_unit(c_out, c_out))
    return units


def mirror_stage(stage):
    mirrored = list(reversed(stage))
    for i, unit in enumerate(mirrored):
        conv = unit[0]
        if conv.in_channels != conv.out_channels:
            mirrored[i] = conv_unit(conv.out_channels, conv.in_channels)
    return mirrored


class SegNet(nn.Module):
    def __init__(self, num_classes, in_channels=3, widths=(16, 32, 48), n_convs=(2, 2, 3)):
        super().__init__()
        stages = []
        c_in = in_channels
        for width, n in zip(widths, n_convs):
            stages.append(make_stage(c_in, width, n))
            c_in = width

        decoder = [mirror_stage(stage) for stage in reversed(stages)]
        decoder[-1][-1] = nn.Conv2d(widths[0], num_classes, 3, padding=1)

        self.encoder = nn.ModuleList([nn.Sequential(*stage) for stage in stages])
        self.decoder = nn.ModuleList([nn.Sequential(*stage) for stage in decoder])
        self.pool = nn.MaxPool2d(2, 2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2, 2)

    def forward(self, x):
        switches, sizes = [], []
        for stage in self.encoder:
            x = stage(x)
            sizes.append(x.size())
            x, indices = self.pool(x)
            switches.append(indices)
        for stage in self.decoder:
            x = self.unpool(x, switches.pop(), output_size=sizes.pop())
            x = stage(x)
        return x


def make_scenes(n, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    masks = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for label in (1, 2):
            top, left = torch.randint(0, size - 12, (2,), generator=g).tolist()
            h, w = torch.randint(6, 12, (2,), generator=g).tolist()
            masks[i, top:top + h, left:left + w] = label
    palette = torch.tensor([[0.0, 0.0, 0.0], [0.8, 0.1, 0.0], [0.0, 0.2, 0.8]])
    images = palette[masks].permute(0, 3, 1, 2) + 0.5 * torch.randn(n, 3, size, size, generator=g)
    return images, masks


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(*make_scenes(128)), batch_size=16, shuffle=True)
    val_images, val_masks = make_scenes(32, seed=1)

    model = SegNet(num_classes=3).to(device)
    print(f"parameters: {sum(p.numel() for p in model.parameters())}")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    for epoch in range(5):
        model.train()
        running = 0.0
        for images, masks in loader:
            loss = F.cross_entropy(model(images.to(device)), masks.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        model.eval()
        with torch.no_grad():
            logits = model(val_images.to(device)).cpu()
        accuracy = (logits.argmax(dim=1) == val_masks).float().mean().item()
        val_loss = F.cross_entropy(logits, val_masks).item()
        print(f"epoch {epoch}: train {running / len(loader):.4f} val {val_loss:.4f} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
