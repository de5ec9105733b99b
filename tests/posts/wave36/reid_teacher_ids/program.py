import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import ConcatDataset, DataLoader, Dataset

CONFIG = {
    'teacher_dir': os.path.join(tempfile.mkdtemp(), 'models', 'best'),
    'ID_class': 45,      # market + msmt + cuhk
    'batch_size': 16,
    'teacher_epoch': 2,
    'max_iter': 12,
    'teacher_w': 2.0,
}


class PersonCrops(Dataset):
    """Random stand-ins for the pedestrian crops of one dataset."""

    def __init__(self, num_ids, first_id, seed, per_id=4):
        g = torch.Generator().manual_seed(seed)
        self.proto = torch.randn(num_ids, 3, 32, 16, generator=g)
        self.noise = torch.randn(num_ids * per_id, 3, 32, 16, generator=g)
        self.first_id = first_id
        self.num_ids = num_ids

    def __len__(self):
        return len(self.noise)

    def __getitem__(self, i):
        pid = i % self.num_ids
        return self.proto[pid] + 0.5 * self.noise[i], self.first_id + pid


class ClassBlock(nn.Module):
    def __init__(self, input_dim, class_num, bottleneck=32):
        super().__init__()
        self.add_block = nn.Sequential(nn.Linear(input_dim, bottleneck), nn.BatchNorm1d(bottleneck), nn.Dropout(0.2))
        self.classifier = nn.Sequential(nn.Linear(bottleneck, class_num))

    def forward(self, x):
        return self.classifier(self.add_block(x))


class ReIDNet(nn.Module):
    def __init__(self, class_num, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width * 2, 3, 2, 1), nn.BatchNorm2d(width * 2), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.classifier = ClassBlock(width * 2, class_num)

    def forward(self, x):
        return self.classifier(self.body(x))


def train_teacher(dataset, class_num, config):
    net = ReIDNet(class_num, 24)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(config['teacher_epoch']):
        for img, pid in DataLoader(dataset, config['batch_size'], shuffle=True, drop_last=True):
            loss = F.cross_entropy(net(img), pid)
            opt.zero_grad()
            loss.backward()
            opt.step()
    os.makedirs(config['teacher_dir'], exist_ok=True)
    torch.save(net.state_dict(), os.path.join(config['teacher_dir'], 'net_last.pth'))
    print('teacher saved, last loss %.3f' % loss.item())


class Trainer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.id_net = ReIDNet(config['ID_class'], 16)
        self.teacher = ReIDNet(config['ID_class'], 24)
        weights = torch.load(os.path.join(config['teacher_dir'], 'net_last.pth'))
        self.teacher.load_state_dict(weights)
        self.teacher.eval().requires_grad_(False)
        self.opt = torch.optim.SGD(self.id_net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)

    def update(self, img, pid):
        logits = self.id_net(img)
        with torch.no_grad():
            soft = F.softmax(self.teacher(img), dim=1)
        loss_id = F.cross_entropy(logits, pid)
        loss_teacher = F.kl_div(F.log_softmax(logits, dim=1), soft, reduction='batchmean')
        loss = loss_id + self.config['teacher_w'] * loss_teacher
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss_id.item(), loss_teacher.item()


if __name__ == '__main__':
    torch.manual_seed(1)
    market = PersonCrops(15, 0, seed=0)
    msmt = PersonCrops(20, 15, seed=1)
    cuhk = PersonCrops(10, 35, seed=2)
    merged = ConcatDataset([market, msmt, cuhk])

    train_teacher(market, 15, CONFIG)

    trainer = Trainer(CONFIG)
    loader = DataLoader(merged, CONFIG['batch_size'], shuffle=True, drop_last=True)
    it = 0
    while it < CONFIG['max_iter']:
        for img, pid in loader:
            losses = trainer.update(img, pid)
            it += 1
            if it % 4 == 0:
                print('iter %d id %.3f teacher %.3f' % (it, *losses))
            if it >= CONFIG['max_iter']:
                break
