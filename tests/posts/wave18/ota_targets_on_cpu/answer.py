import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


class Boxes(Dataset):
    def __init__(self, n=64, size=64):
        g = torch.Generator().manual_seed(0)
        self.images = torch.rand(n, 3, size, size, generator=g)
        self.labels = []
        for _ in range(n):
            k = int(torch.randint(1, 4, (1,), generator=g))
            cls = torch.randint(0, 3, (k, 1), generator=g).float()
            xy = torch.rand(k, 2, generator=g) * 0.6 + 0.2
            wh = torch.rand(k, 2, generator=g) * 0.3 + 0.1
            self.labels.append(torch.cat([cls, xy, wh], 1))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def collate(batch):
    rows = []
    for i, (_, lab) in enumerate(batch):
        rows.append(torch.cat([torch.full((len(lab), 1), float(i)), lab], 1))
    return torch.stack([b[0] for b in batch]), torch.cat(rows)


class TinyDetector(nn.Module):
    def __init__(self, nc=3):
        super().__init__()
        chans = [3, 16, 32, 64]
        body = []
        for a, b in zip(chans[:-1], chans[1:]):
            body += [nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.SiLU()]
        self.body = nn.Sequential(*body)
        self.head = nn.Conv2d(64, 5 + nc, 1)

    def forward(self, x):
        y = self.head(self.body(x))
        return y.flatten(2).transpose(1, 2)


class ComputeLossOTA:
    def __init__(self, topk=4):
        self.topk = topk
        self.bce = nn.BCEWithLogitsLoss()

    def assign(self, boxes, gt):
        cost = torch.cdist(boxes[:, :2], gt[:, :2])
        cand = cost.topk(self.topk, dim=0, largest=False).indices
        matching = torch.zeros_like(cost)
        matching.scatter_(0, cand, 1.0)
        fg = matching.sum(1) > 0
        matched = (cost + (1 - matching) * 1e5)[fg].argmin(1)
        return fg, matched

    def __call__(self, pred, targets):
        loss = torch.zeros(1, device=pred.device)
        for b in range(pred.shape[0]):
            this = targets[targets[:, 0] == b].to(pred.device)
            gt_boxes = this[:, 2:6]
            gt_cls = this[:, 1].long()
            boxes = pred[b, :, :4].sigmoid()
            fg, matched = self.assign(boxes.detach(), gt_boxes.to(pred.device))
            tbox = gt_boxes[matched]
            tcls = nn.functional.one_hot(gt_cls[matched], pred.shape[2] - 5).float()
            loss = loss + (boxes[fg] - tbox).abs().mean()
            loss = loss + self.bce(pred[b, fg, 5:], tcls)
            loss = loss + self.bce(pred[b, :, 4], fg.float())
        return loss / pred.shape[0]


def main(epochs=2):
    torch.manual_seed(0)
    loader = DataLoader(Boxes(), batch_size=8, shuffle=True, collate_fn=collate)
    model = TinyDetector().to(device)
    compute_loss = ComputeLossOTA()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(epochs):
        mloss = 0.0
        for imgs, targets in loader:
            imgs = imgs.to(device)
            loss = compute_loss(model(imgs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mloss += loss.item()
        print(f'{epoch}: {mloss / len(loader):.4f}')


if __name__ == '__main__':
    main()
