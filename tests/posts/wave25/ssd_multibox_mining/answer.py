import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class MultiBoxLoss(nn.Module):
    def __init__(self, num_classes, neg_pos=3):
        super().__init__()
        self.num_classes = num_classes
        self.negpos_ratio = neg_pos

    def forward(self, predictions, targets):
        loc_data, conf_data = predictions
        loc_t, conf_t = targets
        num = loc_data.size(0)

        pos = conf_t > 0
        pos_idx = pos.unsqueeze(pos.dim()).expand_as(loc_data)
        loss_l = F.smooth_l1_loss(loc_data[pos_idx].view(-1, 4), loc_t[pos_idx].view(-1, 4), reduction="sum")

        flat_conf = conf_data.view(-1, self.num_classes)
        mining = torch.logsumexp(flat_conf, 1, keepdim=True) - flat_conf.gather(1, conf_t.view(-1, 1))

        mining = mining.view(num, -1)
        mining[pos] = 0
        order = mining.argsort(dim=1, descending=True)
        rank = order.argsort(dim=1)
        num_pos = pos.long().sum(1, keepdim=True)
        num_neg = torch.clamp(self.negpos_ratio * num_pos, max=pos.size(1) - 1)
        neg = rank < num_neg

        keep = pos | neg
        conf_p = conf_data[keep.unsqueeze(2).expand_as(conf_data)].view(-1, self.num_classes)
        loss_c = F.cross_entropy(conf_p, conf_t[keep], reduction="sum")

        total = num_pos.sum().clamp(min=1).float()
        return loss_l / total, loss_c / total


class TinySSD(nn.Module):
    def __init__(self, num_classes, boxes=4):
        super().__init__()
        self.num_classes = num_classes
        self.base = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.extra = nn.Sequential(nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU())
        self.loc = nn.ModuleList([nn.Conv2d(32, boxes * 4, 3, padding=1) for _ in range(2)])
        self.conf = nn.ModuleList([nn.Conv2d(32, boxes * num_classes, 3, padding=1) for _ in range(2)])

    def forward(self, x):
        sources = [self.base(x)]
        sources.append(self.extra(sources[0]))
        loc, conf = [], []
        for s, l, c in zip(sources, self.loc, self.conf):
            loc.append(l(s).permute(0, 2, 3, 1).reshape(x.size(0), -1, 4))
            conf.append(c(s).permute(0, 2, 3, 1).reshape(x.size(0), -1, self.num_classes))
        return torch.cat(loc, 1), torch.cat(conf, 1)


def matched_targets(batch, priors, num_classes):
    conf_t = torch.randint(1, num_classes, (batch, priors))
    conf_t[torch.rand(batch, priors) > 0.05] = 0
    return 0.3 * torch.randn(batch, priors, 4), conf_t


if __name__ == "__main__":
    num_classes, batch_size = 6, 8
    net = TinySSD(num_classes)
    criterion = MultiBoxLoss(num_classes)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9, weight_decay=5e-4)
    for iteration in range(20):
        images = torch.randn(batch_size, 3, 32, 32)
        out = net(images)
        targets = matched_targets(batch_size, out[0].size(1), num_classes)
        optimizer.zero_grad()
        loss_l, loss_c = criterion(out, targets)
        loss = loss_l + loss_c
        loss.backward()
        optimizer.step()
        if iteration % 5 == 0:
            print("iter %d || Loss: %.4f" % (iteration, loss.item()))
