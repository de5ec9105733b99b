import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

HEIGHT, WIDTH = 48, 96
EMBED_DIM = 4
MAX_LANES = 3


class DiscriminativeLoss(nn.Module):
    def __init__(self, delta_var=0.5, delta_dist=3.0, alpha=1.0, beta=1.0, gamma=0.001):
        super().__init__()
        self.delta_var = delta_var
        self.delta_dist = delta_dist
        self.alpha, self.beta, self.gamma = alpha, beta, gamma

    def forward(self, embedding, instances):
        var_loss = embedding.new_zeros(())
        dist_loss = embedding.new_zeros(())
        reg_loss = embedding.new_zeros(())
        batch_size = embedding.shape[0]

        for b in range(batch_size):
            emb = embedding[b].flatten(1).t()
            seg = instances[b].flatten()
            labels = seg.unique()
            labels = labels[labels != 0]
            num_lanes = len(labels)
            if num_lanes == 0:
                continue

            centroids = []
            for lane in labels:
                lane_emb = emb[seg == lane]
                mean = lane_emb.mean(dim=0)
                centroids.append(mean)
                pull = F.relu(torch.norm(lane_emb - mean, dim=1) - self.delta_var)
                var_loss = var_loss + torch.mean(pull ** 2) / num_lanes
            centroids = torch.stack(centroids)
            reg_loss = reg_loss + centroids.norm(dim=1).mean()

            if num_lanes > 1:
                dist = torch.cdist(centroids, centroids)
                push = F.relu(self.delta_dist - dist) ** 2
                push = push * (1 - torch.eye(num_lanes))
                dist_loss = dist_loss + push.sum() / (num_lanes * (num_lanes - 1))

        return self.alpha * var_loss / batch_size, self.beta * dist_loss / batch_size, self.gamma * reg_loss / batch_size


class LaneEmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
        )
        self.binary = nn.ConvTranspose2d(32, 2, 4, 4)
        self.instance = nn.Sequential(nn.ConvTranspose2d(32, 16, 4, 4), nn.ReLU(), nn.Conv2d(16, EMBED_DIM, 1))

    def forward(self, x):
        z = self.encoder(x)
        return self.binary(z), self.instance(z)


def draw_roads(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    images = 0.2 * torch.randn(n, 3, HEIGHT, WIDTH, generator=g)
    masks = torch.zeros(n, HEIGHT, WIDTH, dtype=torch.long)
    rows = torch.arange(HEIGHT)
    for i in range(n):
        for lane in range(1, MAX_LANES + 1):
            start = lane * WIDTH // (MAX_LANES + 1) + int(torch.randint(-6, 7, (1,), generator=g))
            slope = float(torch.rand(1, generator=g) - 0.5) * 0.3
            for w in range(3):
                cols = (start + slope * rows + w).long().clamp(0, WIDTH - 1)
                masks[i, rows, cols] = lane
                images[i, :, rows, cols] += 0.5 * lane
    return images, masks


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*draw_roads(32)), batch_size=8, shuffle=True)
    net = LaneEmbeddingNet()
    optimizer = Adam(net.parameters(), lr=5e-3)
    disc = DiscriminativeLoss()
    ce = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0]))

    for epoch in range(6):
        sums = torch.zeros(4)
        for images, masks in loader:
            binary, embedding = net(images)
            binary_loss = ce(binary, (masks > 0).long())
            var_loss, dist_loss, reg_loss = disc(embedding, masks)
            loss = binary_loss + var_loss + dist_loss + reg_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += torch.tensor([v.item() for v in (binary_loss, var_loss, dist_loss, reg_loss)])
        print("epoch %d  binary %.3f  var %.3f  dist %.3f  reg %.4f" % ((epoch,) + tuple(sums.div(len(loader)).tolist())))

    with torch.no_grad():
        images, masks = draw_roads(1, seed=9)
        emb = net.eval()(images)[1][0]
        for lane in range(1, MAX_LANES + 1):
            pts = emb[:, masks[0] == lane]
            spread = (pts - pts.mean(1, keepdim=True)).norm(dim=0).mean()
            print("lane", lane, "spread of pixels around centre %.3f" % spread)


if __name__ == "__main__":
    main()
