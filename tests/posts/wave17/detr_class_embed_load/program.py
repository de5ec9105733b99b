import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TinyDETR(nn.Module):
    def __init__(self, num_classes, hidden_dim=64, num_queries=10):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 32, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(32, hidden_dim, 3, stride=2, padding=1), nn.ReLU())
        self.transformer = nn.Transformer(hidden_dim, 4, 1, 1, dim_feedforward=128, dropout=0.0, batch_first=True)
        self.query_embed = nn.Embedding(num_queries, hidden_dim)
        self.class_embed = nn.Linear(hidden_dim, num_classes + 1)
        self.bbox_embed = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 4))

    def forward(self, images):
        tokens = self.backbone(images).flatten(2).transpose(1, 2)
        queries = self.query_embed.weight.expand(len(images), -1, -1)
        hs = self.transformer(tokens, queries)
        return {'pred_logits': self.class_embed(hs), 'pred_boxes': self.bbox_embed(hs).sigmoid()}


class FruitBoxes(Dataset):
    """One fruit (apple or pear) per photograph."""

    def __init__(self, n=64):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        label = i % 2
        image = torch.rand(3, 64, 64, generator=g) * 0.2
        x, y = torch.randint(4, 40, (2,), generator=g).tolist()
        image[label, y:y + 16, x:x + 16] = 1.0
        box = torch.tensor([(x + 8) / 64, (y + 8) / 64, 0.25, 0.25])
        return image, label, box


def download_pretrained(folder, num_classes=91):
    """COCO weights."""
    path = os.path.join(folder, 'detr-coco.pth')
    torch.manual_seed(7)
    torch.save({'model': TinyDETR(num_classes).state_dict(), 'epoch': 300}, path)
    return path


def set_criterion(outputs, labels, boxes, num_classes):
    distance = torch.cdist(outputs['pred_boxes'], boxes[:, None], p=1).squeeze(-1)
    match = distance.argmin(dim=1)
    target = torch.full(outputs['pred_logits'].shape[:2], num_classes)
    rows = torch.arange(len(labels))
    target[rows, match] = labels
    weight = torch.ones(num_classes + 1)
    weight[-1] = 0.1
    loss_ce = F.cross_entropy(outputs['pred_logits'].transpose(1, 2), target, weight=weight)
    return loss_ce + 5 * F.l1_loss(outputs['pred_boxes'][rows, match], boxes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--num-classes', type=int, default=2)
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--lr', type=float, default=1e-4)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = torch.load(download_pretrained(folder), map_location='cpu')

    model = TinyDETR(args.num_classes)
    state_dict = checkpoint['model']
    model.load_state_dict(state_dict)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    loader = DataLoader(FruitBoxes(), batch_size=8, shuffle=True)
    for epoch in range(args.epochs):
        total = 0.0
        for images, labels, boxes in loader:
            loss = set_criterion(model(images), labels, boxes, args.num_classes)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch}: {total / len(loader):.4f}')


if __name__ == '__main__':
    main()
