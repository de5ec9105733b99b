import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

N_FEATS, N_STATES = 13, 20
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Utterances(Dataset):
    """Feature frames of an utterance with one state label per frame."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        codebook = torch.randn(N_STATES, N_FEATS, generator=torch.Generator().manual_seed(99))
        self.items = []
        for _ in range(n):
            length = int(torch.randint(60, 120, (1,), generator=g))
            states = torch.randint(0, N_STATES, (length // 6 + 1,), generator=g)
            states = states.repeat_interleave(6)[:length]
            feats = codebook[states] + 0.7 * torch.randn(length, N_FEATS, generator=g)
            self.items.append((feats, states))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    feats = nn.utils.rnn.pad_sequence([f for f, _ in batch])
    states = nn.utils.rnn.pad_sequence([s for _, s in batch], padding_value=-100)
    return feats, states


class AcousticModel(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.gru = nn.GRU(N_FEATS, hidden, num_layers=2, dropout=0.1)
        self.out = nn.Linear(hidden, N_STATES)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h)


def frame_error(logits, states):
    keep = states != -100
    return (logits.argmax(-1)[keep] != states[keep]).float().mean()


def train_chunk(model, loader, criterion, optimizer):
    model.train()
    loss_sum, err_sum = 0.0, 0.0
    for feats, states in loader:
        feats, states = feats.to(device), states.to(device)
        optimizer.zero_grad()
        logits = model(feats)
        loss = criterion(logits.flatten(0, 1), states.flatten())
        loss.backward()
        optimizer.step()
        loss_sum = loss_sum + loss.detach()
        err_sum = err_sum + frame_error(logits, states)
    return loss_sum / len(loader), err_sum / len(loader)


def valid_chunk(model, loader, criterion):
    model.eval()
    loss_sum, err_sum = 0.0, 0.0
    for feats, states in loader:
        feats, states = feats.to(device), states.to(device)
        with torch.no_grad():
            logits = model(feats)
            loss = criterion(logits.flatten(0, 1), states.flatten())
        loss_sum = loss_sum + loss
        err_sum = err_sum + frame_error(logits, states)
    return loss_sum / len(loader), err_sum / len(loader)


def run():
    torch.manual_seed(2234)
    train_loader = DataLoader(Utterances(64, seed=0), batch_size=8, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(Utterances(96, seed=1), batch_size=4, collate_fn=collate)
    model = AcousticModel().to(device)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    for ep in range(3):
        tr_loss, tr_err = train_chunk(model, train_loader, criterion, optimizer)
        dev_loss, dev_err = valid_chunk(model, dev_loader, criterion)
        print(f"ep={ep} tr_loss={tr_loss.item():.3f} tr_err={tr_err.item():.3f} "
              f"dev_loss={dev_loss.item():.3f} dev_err={dev_err.item():.3f}")


if __name__ == "__main__":
    run()
