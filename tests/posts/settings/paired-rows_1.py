# line 43: the lengths are sorted and the texts reordered for packing, but the scores are not put back into the order of the labels
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


class IntentDataset(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            k = int(torch.randint(3, 12, (1,), generator=g))
            label = int(torch.randint(4, (1,), generator=g))
            ids = torch.randint(1, 30, (k,), generator=g)
            ids[0] = 30 + label
            self.items.append((ids, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(rows):
    ids, labels = zip(*rows)
    sizes = torch.tensor([len(r) for r in ids])
    return pad_sequence(ids, batch_first=True), sizes, torch.tensor(labels)


class IntentLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 24, batch_first=True)
        self.proj = nn.Linear(24, 4)

    def forward(self, ids, sizes):
        perm = torch.argsort(sizes, descending=True)
        ids, sizes = ids.index_select(0, perm), sizes.index_select(0, perm)
        packed = pack_padded_sequence(self.emb(ids), sizes, batch_first=True)
        _, (h, _) = self.lstm(packed)
        return self.proj(h.squeeze(0))


torch.manual_seed(1)
train = torch.utils.data.DataLoader(IntentDataset(160, 1), 16, shuffle=True, collate_fn=collate)
test = torch.utils.data.DataLoader(IntentDataset(64, 2), 16, collate_fn=collate)
net = IntentLSTM()
opt = torch.optim.Adam(net.parameters(), 0.01)
ce = nn.CrossEntropyLoss()
for _ in range(3):
    for ids, sizes, y in train:
        opt.zero_grad()
        ce(net(ids, sizes), y).backward()
        opt.step()
net.eval()
with torch.no_grad():
    hits = sum((net(i, s).argmax(1) == y).sum().item() for i, s, y in test)
print("accuracy", hits / 64)
