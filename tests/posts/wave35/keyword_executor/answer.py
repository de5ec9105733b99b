import logging

import torch
import torch.nn as nn
import torch.optim as optim
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, Dataset


class KeywordSet(Dataset):
    def __init__(self, n, num_keywords, dim=20, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, num_keywords, (n,), generator=g)
        self.feats = []
        shapes = torch.randn(num_keywords, dim, generator=torch.Generator().manual_seed(99))
        for y in self.labels:
            frames = int(torch.randint(30, 60, (1,), generator=g))
            self.feats.append(torch.randn(frames, dim, generator=g) + 0.5 * shapes[y])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return 'utt%04d' % i, self.feats[i], self.labels[i]


def collate(batch):
    keys, feats, labels = zip(*batch)
    lengths = torch.tensor([f.size(0) for f in feats])
    padded = nn.utils.rnn.pad_sequence(feats, batch_first=True)
    return keys, padded, torch.stack(labels), lengths


class KWSModel(nn.Module):
    def __init__(self, idim, hdim, odim):
        super().__init__()
        self.preprocessing = nn.Linear(idim, hdim)
        self.backbone = nn.GRU(hdim, hdim, num_layers=2, batch_first=True)
        self.classifier = nn.Linear(hdim, odim)

    def forward(self, x):
        x = torch.relu(self.preprocessing(x))
        x, _ = self.backbone(x)
        return self.classifier(x)


def criterion(logits, target, lengths):
    last = logits[torch.arange(logits.size(0)), lengths - 1]
    loss = nn.functional.cross_entropy(last, target)
    acc = (last.argmax(dim=-1) == target).float().mean().item()
    return loss, acc


class Executor:
    def __init__(self):
        self.step = 0

    def train(self, model, optimizer, data_loader, args):
        model.train()
        clip = args.get('grad_clip', 50.0)
        log_interval = args.get('log_interval', 10)
        epoch = args.get('epoch', 0)
        for batch_idx, (key, feats, target, feats_lengths) in enumerate(data_loader):
            if target.size(0) == 0:
                continue
            logits = model(feats)
            loss, acc = criterion(logits, target, feats_lengths)
            optimizer.zero_grad()
            loss.backward()
            grad_norm = clip_grad_norm_(model.parameters(), clip)
            if torch.isfinite(grad_norm):
                optimizer.step()
            self.step += 1
            if batch_idx % log_interval == 0:
                logging.debug('TRAIN Batch {}/{} loss {:.6f} acc {:.4f} grad {:.3f}'.format(
                    epoch, batch_idx, loss.item(), acc, grad_norm.item()))

    def cv(self, model, data_loader):
        model.eval()
        num_seen, total_loss, total_acc = 0, 0.0, 0.0
        with torch.no_grad():
            for key, feats, target, feats_lengths in data_loader:
                loss, acc = criterion(model(feats), target, feats_lengths)
                num_seen += target.size(0)
                total_loss += loss.item() * target.size(0)
                total_acc += acc * target.size(0)
        return total_loss / num_seen, total_acc / num_seen


def main():
    logging.basicConfig(level=logging.DEBUG, format='%(levelname)s %(message)s')
    torch.manual_seed(777)
    train_loader = DataLoader(KeywordSet(320, 5, seed=1), batch_size=16, shuffle=True, collate_fn=collate)
    cv_loader = DataLoader(KeywordSet(80, 5, seed=2), batch_size=16, collate_fn=collate)
    model = KWSModel(20, 48, 5)
    optimizer = optim.Adam(model.parameters(), lr=0.001)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    executor = Executor()
    for epoch in range(4):
        executor.train(model, optimizer, train_loader, {'epoch': epoch, 'grad_clip': 5.0})
        cv_loss, cv_acc = executor.cv(model, cv_loader)
        scheduler.step(cv_loss)
        logging.info('Epoch {} CV loss {:.4f} acc {:.3f}'.format(epoch, cv_loss, cv_acc))


if __name__ == '__main__':
    main()
