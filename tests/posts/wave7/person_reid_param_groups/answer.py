import argparse
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import init
from torch.utils.data import DataLoader, TensorDataset


class ResNet(nn.Module):
    def __init__(self, num_features=64, dropout=0.5, num_classes=20, triplet_features=32):
        super(ResNet, self).__init__()
        self.base = nn.Sequential(
            nn.Conv2d(3, 32, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
            nn.Conv2d(32, 64, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
        out_planes = 64
        self.triplet = nn.Linear(out_planes, triplet_features)
        self.feat = nn.Linear(out_planes, num_features)
        self.feat_bn = nn.BatchNorm1d(num_features)
        self.drop = nn.Dropout(dropout)
        self.classifier = nn.Linear(num_features, num_classes)
        for m in (self.triplet, self.feat, self.classifier):
            init.normal_(m.weight, std=0.01)
            init.constant_(m.bias, 0)

    def forward(self, x):
        x = self.base(x)
        x = F.avg_pool2d(x, x.size()[2:]).view(x.size(0), -1)
        triplet = F.normalize(self.triplet(x))
        x = F.relu(self.feat_bn(self.feat(x)))
        return self.classifier(self.drop(x)), triplet


class TripletLoss(nn.Module):
    def __init__(self, margin=0.3):
        super(TripletLoss, self).__init__()
        self.ranking_loss = nn.MarginRankingLoss(margin=margin)

    def forward(self, inputs, targets):
        dist = torch.cdist(inputs, inputs)
        mask = targets.unsqueeze(0) == targets.unsqueeze(1)
        dist_ap = torch.where(mask, dist, torch.full_like(dist, -1e6)).max(dim=1)[0]
        dist_an = torch.where(mask, torch.full_like(dist, 1e6), dist).min(dim=1)[0]
        return self.ranking_loss(dist_an, dist_ap, torch.ones_like(dist_an))


def main(args):
    torch.manual_seed(1)
    pids = torch.arange(20).repeat_interleave(8)
    images = torch.rand(160, 3, 64, 32) + pids.view(-1, 1, 1, 1) / 20.0
    train_loader = DataLoader(TensorDataset(images, pids), batch_size=args.batch_size, shuffle=True, drop_last=True)

    device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
    model = nn.DataParallel(ResNet(num_classes=20)).to(device)
    criterion_c = nn.CrossEntropyLoss().to(device)
    criterion_t = TripletLoss(margin=args.margin).to(device)

    # Optimizer
    if hasattr(model.module, 'base'):
        base_param_ids = set(map(id, model.module.base.parameters())) \
                         | set(map(id, model.module.triplet.parameters())) \
                         | set(map(id, model.module.feat.parameters())) \
                         | set(map(id, model.module.feat_bn.parameters()))
        new_params = [p for p in model.parameters() if id(p) not in base_param_ids]
        param_groups = [
            {'params': model.module.base.parameters(), 'lr_mult': 0.1},
            {'params': model.module.triplet.parameters(), 'lr_mult': 1.0},
            {'params': model.module.feat.parameters(), 'lr_mult': 1.0},
            {'params': model.module.feat_bn.parameters(), 'lr_mult': 1.0},
            {'params': new_params, 'lr_mult': 1.0}]
    else:
        param_groups = model.parameters()
    optimizer = torch.optim.SGD(param_groups, lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)

    def adjust_lr(epoch):
        lr = args.lr * (0.1 ** (epoch // 40))
        for g in optimizer.param_groups:
            g['lr'] = lr * g.get('lr_mult', 1)

    for epoch in range(args.epochs):
        adjust_lr(epoch)
        model.train()
        for inputs, targets in train_loader:
            inputs, targets = inputs.to(device), targets.to(device)
            outputs, triplet = model(inputs)
            loss = criterion_c(outputs, targets) + args.beta * criterion_t(triplet, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('Epoch [{}] Loss {:.3f}'.format(epoch, loss.item()))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-b', '--batch-size', type=int, default=32)
    parser.add_argument('--lr', type=float, default=0.1)
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--beta', type=float, default=0.5)
    parser.add_argument('--margin', type=float, default=0.3)
    main(parser.parse_args())
