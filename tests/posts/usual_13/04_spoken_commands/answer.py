import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import Dataset, DataLoader

INTENTS = ["lights_on", "lights_off", "volume_up", "volume_down", "play_music"]
N_MFCC = 20


class FluentCommands(Dataset):
    """MFCC matrices [frames, coefficients] of recordings between 0.4 and 1.5 s"""

    def __init__(self, n, seed):
        rnd = random.Random(seed)
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            frames = rnd.randint(40, 150)
            intent = rnd.randrange(len(INTENTS))
            mfcc = torch.randn(frames, N_MFCC, generator=g)
            mfcc[:, intent * 4:intent * 4 + 4] += torch.linspace(0, 1.5, frames)[:, None]
            self.items.append((mfcc, intent))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    feats, intents = zip(*batch)
    lengths = torch.tensor([f.size(0) for f in feats])
    return pad_sequence(feats, batch_first=True), lengths, torch.tensor(intents)


class IntentRNN(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.norm = nn.LayerNorm(N_MFCC)
        self.rnn = nn.GRU(N_MFCC, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(INTENTS))

    def forward(self, feats, lengths):
        packed = pack_padded_sequence(self.norm(feats), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.rnn(packed)
        return self.out(torch.cat([h[0], h[1]], dim=1))


def run_epoch(model, loader, optimizer=None):
    train = optimizer is not None
    model.train(train)
    loss_sum, hits, n = 0.0, 0, 0
    with torch.set_grad_enabled(train):
        for feats, lengths, intents in loader:
            logits = model(feats, lengths)
            loss = F.cross_entropy(logits, intents)
            if train:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
            loss_sum += loss.item() * len(intents)
            hits += (logits.argmax(-1) == intents).sum().item()
            n += len(intents)
    return loss_sum / n, hits / n


if __name__ == "__main__":
    torch.manual_seed(0)
    train_dl = DataLoader(FluentCommands(160, 0), batch_size=16, shuffle=True, collate_fn=collate)
    dev_dl = DataLoader(FluentCommands(48, 1), batch_size=16, collate_fn=collate)
    model = IntentRNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        tr_loss, tr_acc = run_epoch(model, train_dl, optimizer)
        dv_loss, dv_acc = run_epoch(model, dev_dl)
        print(f"{epoch}  train {tr_loss:.3f}/{tr_acc:.2f}  dev {dv_loss:.3f}/{dv_acc:.2f}")
