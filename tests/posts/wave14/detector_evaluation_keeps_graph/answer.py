import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_CLASS = 4
BATCH_SIZE = 8


class VotingNet(nn.Module):
    """points to seeds, seeds to votes, votes to proposals"""

    def __init__(self, n_proposal=32):
        super().__init__()
        self.n_proposal = n_proposal
        self.backbone = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(),
                                      nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU())
        self.vote = nn.Conv1d(128, 3 + 128, 1)
        self.pnet = nn.Sequential(nn.Conv1d(128, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 2 + 3 + NUM_CLASS, 1))

    def forward(self, inputs):
        end_points = {}
        xyz = inputs['point_clouds'].transpose(1, 2)
        feat = self.backbone(xyz)
        out = self.vote(feat)
        end_points['vote_xyz'] = (xyz + out[:, :3]).transpose(1, 2)
        feat = feat + out[:, 3:]
        groups = feat.view(feat.size(0), feat.size(1), self.n_proposal, -1).max(dim=3)[0]
        centers = end_points['vote_xyz'].view(feat.size(0), self.n_proposal, -1, 3).mean(dim=2)
        net = self.pnet(groups).transpose(1, 2)
        end_points['objectness_scores'] = net[..., :2]
        end_points['center'] = centers + net[..., 2:5]
        end_points['sem_cls_scores'] = net[..., 5:]
        return end_points


def scenes(gen, n_batches, n_points=1024):
    for _ in range(n_batches):
        label = torch.randint(0, NUM_CLASS, (BATCH_SIZE,), generator=gen)
        center = torch.rand(BATCH_SIZE, 1, 3, generator=gen) * 2 - 1
        cloud = center + torch.randn(BATCH_SIZE, n_points, 3, generator=gen) * (0.1 + 0.1 * label.view(-1, 1, 1))
        yield {'point_clouds': cloud, 'center_label': center, 'sem_cls_label': label}


def get_loss(end_points, batch):
    vote = (end_points['vote_xyz'] - batch['center_label']).abs().mean()
    dist = (end_points['center'] - batch['center_label']).norm(dim=2)
    near = (dist.detach() < 0.3).long()
    obj = F.cross_entropy(end_points['objectness_scores'].transpose(1, 2), near)
    cls = F.cross_entropy(end_points['sem_cls_scores'].mean(dim=1), batch['sem_cls_label'])
    end_points['loss'] = vote + 0.5 * obj + dist.mean() + 0.1 * cls
    return end_points['loss'], end_points


def train_one_epoch(net, optimizer, gen):
    net.train()
    for batch in scenes(gen, 10):
        optimizer.zero_grad()
        loss, _ = get_loss(net(batch), batch)
        loss.backward()
        optimizer.step()
    return loss.item()


def evaluate_one_epoch(net, gen):
    net.eval()
    total, hits, seen = 0.0, 0, 0
    for batch in scenes(gen, 6):
        with torch.no_grad():
            end_points = net(batch)
        loss, end_points = get_loss(end_points, batch)
        total += loss.item()
        pred = end_points['sem_cls_scores'].mean(dim=1).argmax(dim=1)
        hits += (pred == batch['sem_cls_label']).sum().item()
        seen += BATCH_SIZE
    print('eval mean loss: %.4f accuracy: %.3f' % (total / 6, hits / seen))
    return total / 6


if __name__ == '__main__':
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    net = VotingNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(6):
        loss = train_one_epoch(net, optimizer, gen)
        if epoch % 3 == 2:
            print('**** EPOCH %03d **** loss %.4f' % (epoch, loss))
            evaluate_one_epoch(net, gen)
