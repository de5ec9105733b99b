import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_CLASSES = 4
IGNORE = 255


class SegNet(nn.Module):
    def __init__(self, memory_size=60, proj_dim=32, width=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU(),
        )
        self.cls_head = nn.Conv2d(width, NUM_CLASSES, 1)
        self.proj_head = nn.Conv2d(width, proj_dim, 1)
        self.register_buffer("pixel_queue", F.normalize(torch.randn(NUM_CLASSES, memory_size, proj_dim), dim=2))
        self.register_buffer("pixel_queue_ptr", torch.zeros(NUM_CLASSES, dtype=torch.long))

    def forward(self, x):
        feats = self.encoder(x)
        return self.cls_head(feats), F.normalize(self.proj_head(feats), dim=1)


class MemoryContrast(nn.Module):
    def __init__(self, temperature=0.1, max_anchor=64):
        super().__init__()
        self.temperature = temperature
        self.max_anchor = max_anchor

    def forward(self, embed, labels, queue):
        embed = embed.permute(0, 2, 3, 1).flatten(0, 2)
        labels = labels.flatten()
        pick = torch.randperm(labels.numel())
        pick = pick[labels[pick] != IGNORE][:self.max_anchor]
        anchor, y = embed[pick], labels[pick]
        contrast = queue.flatten(0, 1)
        contrast_y = torch.arange(NUM_CLASSES).repeat_interleave(queue.size(1))
        logits = anchor @ contrast.t() / self.temperature
        log_prob = logits - torch.logsumexp(logits, dim=1, keepdim=True)
        positive = (y[:, None] == contrast_y[None, :]).float()
        return -((positive * log_prob).sum(1) / positive.sum(1)).mean()


class Trainer:
    def __init__(self, pixel_update_freq=10, contrast_weight=0.1, warmup=5):
        self.net = SegNet()
        self.seg_loss = nn.CrossEntropyLoss(ignore_index=IGNORE)
        self.contrast = MemoryContrast()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
        self.pixel_update_freq = pixel_update_freq
        self.contrast_weight = contrast_weight
        self.warmup = warmup

    @torch.no_grad()
    def enqueue(self, keys, labels):
        queue, ptrs = self.net.pixel_queue, self.net.pixel_queue_ptr
        memory_size = queue.size(1)
        for b in range(keys.size(0)):
            feat_all = keys[b].flatten(1)
            lab_all = labels[b].flatten()
            for c in torch.unique(lab_all).tolist():
                if c == IGNORE:
                    continue
                idx = (lab_all == c).nonzero().squeeze(1)
                perm = torch.randperm(idx.numel())
                K = min(idx.numel(), self.pixel_update_freq)
                feat = feat_all[:, idx[perm[:K]]].t()
                ptr = int(ptrs[c])

                if ptr + K >= memory_size:
                    queue[c, -K:] = feat
                    ptrs[c] = 0
                else:
                    queue[c, ptr:ptr + K] = feat
                    ptrs[c] = (ptrs[c] + K) % memory_size

    def batch(self, n=4, size=32):
        labels = torch.randint(0, NUM_CLASSES, (n, 2, 2))
        labels = labels.repeat_interleave(size // 2, 1).repeat_interleave(size // 2, 2)
        base = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.5, 0.5, 0.5]])
        images = base[labels].permute(0, 3, 1, 2) + 0.5 * torch.randn(n, 3, size, size)
        labels[:, :2] = IGNORE
        return images, labels

    def train(self, iters):
        self.net.train()
        for it in range(1, iters + 1):
            images, labels = self.batch()
            seg, embed = self.net(images)
            small = labels[:, ::2, ::2]
            seg = F.interpolate(seg, size=labels.shape[-2:], mode="bilinear", align_corners=True)
            loss = self.seg_loss(seg, labels)
            if it > self.warmup:
                loss = loss + self.contrast_weight * self.contrast(embed, small, self.net.pixel_queue)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.enqueue(embed.detach(), small)
            if it % 10 == 0:
                print("iter %d loss %.4f ptr %s" % (it, loss.item(), self.net.pixel_queue_ptr.tolist()))


if __name__ == "__main__":
    torch.manual_seed(304)
    Trainer().train(40)
