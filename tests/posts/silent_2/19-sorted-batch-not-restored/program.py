import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Gestures(Dataset):
    """Pen strokes of 5 to 25 points in the plane, with one of three shapes."""

    def __init__(self, n):
        self.data = []
        for _ in range(n):
            label = random.randrange(3)
            steps = torch.randn(random.randint(5, 25), 2) * 0.3
            steps[:, 0] += (label - 1) * 0.5
            self.data.append((steps, label))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, item):
        return self.data[item]


def collate(batch):
    strokes = [s for s, _ in batch]
    lengths = torch.tensor([len(s) for s in strokes])
    labels = torch.tensor([lab for _, lab in batch])
    return pad_sequence(strokes, batch_first=True), lengths, labels


class GestureNet(nn.Module):
    def __init__(self, hidden=32, classes=3):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x, lengths):
        lengths, order = lengths.sort(descending=True)
        packed = pack_padded_sequence(x[order], lengths.cpu(), batch_first=True)
        _, h = self.gru(packed)
        state = h[-1]
        return self.fc(state)


def run_epoch(net, loader, device, opt=None):
    net.train(opt is not None)
    loss_sum, correct, seen = 0.0, 0, 0
    with torch.set_grad_enabled(opt is not None):
        for x, lengths, y in loader:
            x, y = x.to(device), y.to(device)
            logits = net(x, lengths)
            loss = nn.functional.cross_entropy(logits, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            loss_sum += loss.item() * y.size(0)
            correct += (logits.argmax(1) == y).sum().item()
            seen += y.size(0)
    return loss_sum / seen, correct / seen


if __name__ == "__main__":
    random.seed(2)
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(Gestures(360), batch_size=30, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(Gestures(90), batch_size=30, collate_fn=collate)
    net = GestureNet().to(device)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(6):
        tr_loss, tr_acc = run_epoch(net, train_loader, device, opt)
        te_loss, te_acc = run_epoch(net, test_loader, device)
        print(f"{epoch}: train {tr_loss:.3f}/{tr_acc:.2f} test {te_loss:.3f}/{te_acc:.2f}")
