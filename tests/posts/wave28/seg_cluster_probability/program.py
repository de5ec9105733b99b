import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

IGNORE = 255


class SegNet(nn.Module):
    def __init__(self, num_classes, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, dim, 3, stride=2, padding=1), nn.BatchNorm2d(dim), nn.ReLU(),
        )
        self.head = nn.Conv2d(dim, num_classes, 1)

    def forward(self, x):
        feat = self.encoder(x)
        return feat, self.head(feat)


class Trainer:
    def __init__(self, num_classes=5, tau=0.1, threshold=0.4):
        self.num_classes = num_classes
        self.tau = tau
        self.threshold = threshold
        self.model = SegNet(num_classes)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)

    def pretrain(self, loader, epochs):
        self.model.train()
        for _ in range(epochs):
            for image, label in loader:
                _, logits = self.model(image)
                label = F.interpolate(label.unsqueeze(1).float(), size=logits.shape[-2:], mode="nearest").squeeze(1).long()
                loss = F.cross_entropy(logits, label)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

    def prototypes(self, feat, pred):
        d = feat.size(1)
        flat = feat.permute(0, 2, 3, 1).reshape(-1, d)
        one_hot = F.one_hot(pred.reshape(-1), self.num_classes).float()
        count = one_hot.sum(dim=0).clamp(min=1).unsqueeze(1)
        return F.normalize(one_hot.t() @ flat / count, dim=1)

    @torch.no_grad()
    def cluster_probability(self, feat, pred):
        """Soft assignment of every pixel to the class centres of the batch."""
        b, d, h, w = feat.shape
        centres = self.prototypes(feat, pred)
        clu_list = []
        for i in range(b):
            feat_i = F.normalize(feat[i].view(d, h * w).t(), dim=1)
            clu_list.append(F.softmax(feat_i @ centres.t() / self.tau, dim=1))
        clu_prob = torch.stack(clu_list, dim=0)
        clu_prob = clu_prob.view(b, self.num_classes, h, w)
        return clu_prob

    def adapt(self, loader, epochs):
        self.model.train()
        for epoch in range(epochs):
            total, kept = 0.0, 0.0
            for image, _ in loader:
                feat, logits = self.model(image)
                prob = logits.softmax(dim=1)
                clu_prob = self.cluster_probability(feat.detach(), prob.argmax(dim=1))
                joint = prob.detach() * clu_prob
                conf, pseudo = (joint / joint.sum(dim=1, keepdim=True)).max(dim=1)
                pseudo[conf < self.threshold] = IGNORE

                loss = F.cross_entropy(logits, pseudo, ignore_index=IGNORE)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
                kept += (pseudo != IGNORE).float().mean().item()
            print(f"adapt epoch {epoch}: loss {total / len(loader):.4f}  kept {kept / len(loader):.3f}")

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        inter, union = torch.zeros(self.num_classes), torch.zeros(self.num_classes)
        for image, label in loader:
            _, logits = self.model(image)
            pred = F.interpolate(logits, size=label.shape[-2:], mode="bilinear", align_corners=False).argmax(dim=1)
            for c in range(self.num_classes):
                inter[c] += ((pred == c) & (label == c)).sum()
                union[c] += ((pred == c) | (label == c)).sum()
        return (inter / union.clamp(min=1)).mean().item()


def street_scenes(n, num_classes, shift, seed, size=48):
    g = torch.Generator().manual_seed(seed)
    colours = torch.rand(num_classes, 3, generator=torch.Generator().manual_seed(1))
    label = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for c in range(1, num_classes):
            r, q = torch.randint(0, size - 16, (2,), generator=g).tolist()
            label[i, r:r + 16, q:q + 16] = c
    image = colours[label].permute(0, 3, 1, 2) + shift + 0.15 * torch.randn(n, 3, size, size, generator=g)
    return TensorDataset(image, label)


if __name__ == "__main__":
    torch.manual_seed(0)
    source = DataLoader(street_scenes(64, 5, 0.0, seed=2), batch_size=8, shuffle=True)
    target = DataLoader(street_scenes(64, 5, 0.12, seed=3), batch_size=8, shuffle=True)
    trainer = Trainer()
    trainer.pretrain(source, epochs=6)
    print(f"mIoU on target before adaptation: {trainer.evaluate(target):.3f}")
    trainer.adapt(target, epochs=5)
    print(f"mIoU on target after adaptation:  {trainer.evaluate(target):.3f}")
