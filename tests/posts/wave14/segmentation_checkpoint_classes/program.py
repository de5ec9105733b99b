import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_CLASSES = [2] * 3
NUM_SEGM_EPOCHS = [1] * 3
BATCH_SIZE = [4] * 3
LR_DEC = [5e-3, 2.5e-3, 1.25e-3]


class CRP(nn.Module):
    def __init__(self, c, n_stages=2):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(c, c, 1, bias=False) for _ in range(n_stages)])

    def forward(self, x):
        top = x
        for conv in self.convs:
            top = conv(F.max_pool2d(top, 5, stride=1, padding=2))
            x = x + top
        return x


class Segmenter(nn.Module):
    def __init__(self, num_classes, width=24):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(width, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.crp1, self.crp2 = CRP(width), CRP(width)
        self.clf_conv = nn.Conv2d(width, num_classes, 3, padding=1)

    def forward(self, x):
        l1 = self.layer1(x)
        l2 = self.crp2(self.layer2(l1))
        l2 = F.interpolate(l2, size=l1.shape[2:], mode='bilinear', align_corners=True)
        return self.clf_conv(self.crp1(F.relu(l1 + l2)))


def published_checkpoint(folder):
    """the trained network, as one downloads it"""
    torch.manual_seed(11)
    path = os.path.join(folder, 'checkpoint.pth.tar')
    torch.save({'segmenter': Segmenter(40).state_dict(), 'best_val': 0.42, 'epoch_start': 300}, path)
    return path


def load_ckpt(ckpt_path, ckpt_dict):
    best_val = epoch_start = 0
    if os.path.exists(ckpt_path):
        ckpt = torch.load(ckpt_path)
        for k, v in ckpt_dict.items():
            if k in ckpt:
                v.load_state_dict(ckpt[k])
        best_val = ckpt.get('best_val', 0)
        epoch_start = ckpt.get('epoch_start', 0)
    return best_val, epoch_start


def batch(n, size=48):
    img = 0.2 * torch.randn(n, 3, size, size)
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(0, size - 16, (2,)).tolist()
        mask[i, r:r + 16, c:c + 16] = 1
    img[:, 0] += mask
    return img, mask


def train_segmenter(segmenter, optimizer, batch_size, steps=8):
    segmenter.train()
    for _ in range(steps):
        img, mask = batch(batch_size)
        out = segmenter(img)
        target = F.interpolate(mask[:, None].float(), size=out.shape[2:], mode='nearest')[:, 0].long()
        loss = F.cross_entropy(out, target, ignore_index=255)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    with tempfile.TemporaryDirectory() as folder:
        ckpt_path = published_checkpoint(folder)
        segmenter = Segmenter(NUM_CLASSES[0])
        best_val, epoch_start = load_ckpt(ckpt_path, {'segmenter': segmenter})
    print('best validation so far %.2f, epoch %d' % (best_val, epoch_start))
    epoch = 0
    for task, n_epochs in enumerate(NUM_SEGM_EPOCHS):
        optimizer = torch.optim.SGD(segmenter.parameters(), lr=LR_DEC[task], momentum=0.9, weight_decay=1e-5)
        for _ in range(n_epochs):
            loss = train_segmenter(segmenter, optimizer, BATCH_SIZE[task])
            print('stage %d epoch %d loss %.4f' % (task, epoch, loss))
            epoch += 1


if __name__ == '__main__':
    main()
