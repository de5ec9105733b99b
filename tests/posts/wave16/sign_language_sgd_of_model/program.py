import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Optimizer:
    def __init__(self, model, optim_dict):
        self.optim_dict = optim_dict
        kind = optim_dict['optimizer']
        if kind == 'SGD':
            self.optimizer = optim.SGD(
                model,
                lr=optim_dict['base_lr'],
                momentum=0.9,
                nesterov=optim_dict['nesterov'],
                weight_decay=optim_dict['weight_decay'],
            )
        elif kind == 'Adam':
            self.optimizer = optim.Adam(
                model.parameters(),
                lr=optim_dict['base_lr'],
                weight_decay=optim_dict['weight_decay'],
            )
        else:
            raise ValueError(kind)
        self.scheduler = optim.lr_scheduler.MultiStepLR(
            self.optimizer, milestones=optim_dict['step'], gamma=0.2)

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()


class SLRModel(nn.Module):
    """frame features -> temporal conv -> BiLSTM -> gloss probabilities"""

    def __init__(self, feat=48, hidden=64, num_classes=12):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(feat, hidden), nn.ReLU())
        self.tconv = nn.Sequential(
            nn.Conv1d(hidden, hidden, 5, padding=2), nn.BatchNorm1d(hidden), nn.ReLU(), nn.MaxPool1d(2))
        self.rnn = nn.LSTM(hidden, hidden // 2, bidirectional=True, batch_first=True)
        self.aux = nn.Linear(hidden, num_classes)
        self.classifier = nn.Linear(hidden, num_classes)

    def forward(self, x, lengths):
        h = self.tconv(self.frame(x).transpose(1, 2)).transpose(1, 2)
        y, _ = self.rnn(h)
        return self.aux(h), self.classifier(y), lengths // 2


def make_clips(n, feat=48, num_classes=12, glosses=4, frames=48):
    g = torch.Generator().manual_seed(2)
    signs = torch.randn(num_classes, feat, generator=g)
    labels = torch.randint(1, num_classes, (n, glosses), generator=g)
    x = signs[labels].repeat_interleave(frames // glosses, dim=1)
    return x + 0.3 * torch.randn(x.shape, generator=g), labels


def ctc(logits, labels, lengths):
    logp = F.log_softmax(logits, dim=-1).transpose(0, 1)
    target = torch.full((len(labels),), labels.shape[1], dtype=torch.long)
    return F.ctc_loss(logp, labels, lengths, target, blank=0, zero_infinity=True)


def main():
    torch.manual_seed(0)
    args = {'optimizer': 'SGD', 'base_lr': 0.02, 'nesterov': True, 'weight_decay': 1e-4, 'step': [4, 6]}
    clips, labels = make_clips(96)
    model = SLRModel()
    optimizer = Optimizer(model, args)
    for epoch in range(6):
        order = torch.randperm(len(clips))
        total = 0.0
        for idx in order.split(16):
            lengths = torch.full((len(idx),), clips.shape[1], dtype=torch.long)
            aux, main_out, out_len = model(clips[idx], lengths)
            loss = ctc(main_out, labels[idx], out_len) + ctc(aux, labels[idx], out_len)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        optimizer.scheduler.step()
        print('epoch', epoch, 'loss %.3f' % (total / 6))


if __name__ == '__main__':
    main()
