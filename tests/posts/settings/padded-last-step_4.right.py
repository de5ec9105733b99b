# line 31: outputs[-1] of the time-first padded LSTM outputs is zero for all recordings but the longest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def sensor_walk():
    steps = int(torch.randint(8, 30, ()))
    drift = 0.2 if torch.rand(()) < 0.5 else -0.2
    return drift + 0.5 * torch.randn(steps, 3), int(drift > 0)


def collate(walks):
    lengths = torch.tensor([len(w) for w, _ in walks])
    longest = int(lengths.max())
    padded = torch.stack([F.pad(w, (0, 0, 0, longest - len(w))) for w, _ in walks], dim=1)
    return padded, lengths, torch.tensor([label for _, label in walks])


class GaitLSTM(nn.Module):
    def __init__(self, sensors=3, hidden=20):
        super().__init__()
        self.lstm = nn.LSTM(sensors, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, 2)

    def forward(self, padded, lengths):
        packed = pack_padded_sequence(padded, lengths, enforce_sorted=False)
        outputs, lengths = pad_packed_sequence(self.lstm(packed)[0])
        final = outputs[lengths - 1, torch.arange(len(lengths))]
        return self.head(self.norm(final))


torch.manual_seed(37)
train = [sensor_walk() for _ in range(320)]
test = [sensor_walk() for _ in range(80)]
net = GaitLSTM()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    for padded, lengths, label in torch.utils.data.DataLoader(train, 32, shuffle=True, collate_fn=collate):
        opt.zero_grad()
        F.cross_entropy(net(padded, lengths), label).backward()
        opt.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for padded, lengths, label in torch.utils.data.DataLoader(test, 32, collate_fn=collate):
            right += (net(padded, lengths).argmax(1) == label).sum().item()
    print("epoch", epoch, "accuracy", right / len(test))
