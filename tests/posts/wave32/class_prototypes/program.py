import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

OLD_CLASSES = 3          # background included
NEW_CLASSES = 2
UNKNOWN = 255


class IncrementalSeg(nn.Module):
    def __init__(self, classes, dim=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, dim, 3, stride=2, padding=1), nn.BatchNorm2d(dim), nn.LeakyReLU(0.1),
            nn.Conv2d(dim, dim, 3, padding=1), nn.BatchNorm2d(dim), nn.LeakyReLU(0.1),
        )
        self.cls = nn.ModuleList([nn.Conv2d(dim, c, 1) for c in classes])

    def forward(self, x):
        feat = self.body(x)
        logits = torch.cat([head(feat) for head in self.cls], dim=1)
        logits = F.interpolate(logits, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return logits, feat


def synth(n, classes, size=48):
    gen = torch.Generator().manual_seed(sum(classes))
    colors = torch.tensor([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.7, 0.7, 0]])
    labels = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for c in classes:
            top, left = torch.randint(0, size - 16, (2,), generator=gen).tolist()
            h, w = torch.randint(8, 16, (2,), generator=gen).tolist()
            labels[i, top:top + h, left:left + w] = c
    images = colors[labels].permute(0, 3, 1, 2) + 0.2 * torch.randn(n, 3, size, size, generator=gen)
    return TensorDataset(images, labels)


@torch.no_grad()
def compute_prototype(model, loader, classes):
    """Mean feature of the pixels of every class."""
    model.eval()
    total = {c: 0.0 for c in classes}
    count = {c: 0 for c in classes}
    for images, labels in loader:
        _, features = model(images)
        B, C, H, W = features.shape
        seg = F.interpolate(labels.unsqueeze(1).float(), size=(H, W), mode="nearest").long()
        seg = seg.view(-1)
        features = features.transpose(1, 3).contiguous().view(B * H * W, -1)
        for c in classes:
            selected = features[seg == c]
            total[c] = total[c] + selected.sum(0)
            count[c] += len(selected)
    return torch.stack([total[c] / max(count[c], 1) for c in classes])


def class_similarity(prototypes, n_old):
    p = F.normalize(prototypes, dim=1)
    return p[n_old:] @ p[:n_old].t()


def train(model, loader, epochs, old=None, sim=None, lr=0.02):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=lr, momentum=0.9, nesterov=True)
    criterion = nn.CrossEntropyLoss(ignore_index=UNKNOWN)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for images, labels in loader:
            logits, _ = model(images)
            loss = criterion(logits, labels)
            if old is not None:
                with torch.no_grad():
                    old_logits, _ = old(images)
                n_old = old_logits.size(1)
                weight = torch.ones_like(labels, dtype=torch.float)
                for k in range(sim.size(0)):
                    weight[labels == n_old + k] = sim[k].max().clamp(min=0).item()
                kd = F.kl_div(logits[:, :n_old].log_softmax(1), old_logits.softmax(1), reduction="none").sum(1)
                loss = loss + (weight * kd).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print("epoch %d loss %.4f" % (epoch, running / len(loader)))


def main():
    torch.manual_seed(42)
    step0 = DataLoader(synth(48, [1, 2]), batch_size=8, shuffle=True)
    old = IncrementalSeg([OLD_CLASSES])
    train(old, step0, epochs=4)

    step1 = DataLoader(synth(48, [3, 4]), batch_size=8, shuffle=True)
    old_proto = compute_prototype(old, step0, range(OLD_CLASSES))
    new_proto = compute_prototype(old, step1, range(OLD_CLASSES, OLD_CLASSES + NEW_CLASSES))
    sim = class_similarity(torch.cat([old_proto, new_proto]), OLD_CLASSES)
    print("similarity of new and old classes\n", sim)

    model = IncrementalSeg([OLD_CLASSES, NEW_CLASSES])
    model.load_state_dict(old.state_dict(), strict=False)
    old.eval()
    train(model, step1, epochs=3, old=old, sim=sim)


if __name__ == "__main__":
    main()
