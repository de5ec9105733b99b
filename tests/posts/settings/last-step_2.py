# line 33: the gathered last valid step of a bidirectional LSTM carries a backward half that read only one character
import torch
from torch import nn

torch.manual_seed(13)
NAMES = ["anna", "maria", "sofia", "clara", "peter", "oscar", "victor", "robert", "julia", "laura",
         "henry", "albert", "emilia", "martin", "lucas", "nora"]
ORIGIN = [int(n.endswith("a")) for n in NAMES]
stoi = {c: i + 1 for i, c in enumerate(sorted(set("".join(NAMES))))}


def encode(names):
    lengths = torch.tensor([len(n) for n in names])
    ids = torch.zeros(len(names), int(lengths.max()), dtype=torch.long)
    for row, name in enumerate(names):
        ids[row, : len(name)] = torch.tensor([stoi[c] for c in name])
    return ids, lengths


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(stoi) + 1, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 12, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(24, 2)

    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.emb(ids), lengths, batch_first=True, enforce_sorted=False
        )
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        where = (lengths - 1).view(-1, 1, 1).expand(-1, 1, hidden.size(2))
        final = hidden.gather(1, where).squeeze(1)
        return self.fc(final)


ids, lengths = encode(NAMES)
target = torch.tensor(ORIGIN)
net = CharModel()
sgd = torch.optim.SGD(net.parameters(), lr=0.5)
for epoch in range(30):
    sgd.zero_grad()
    loss = nn.functional.cross_entropy(net(ids, lengths), target)
    loss.backward()
    sgd.step()
print("final loss", loss.item())
