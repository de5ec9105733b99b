# line 28: word dropout writes the unknown token into the stored sentences, which lose more words in every epoch
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

UNK, PAD = 1, 0


class Utterances(Dataset):
    def __init__(self, n, drop=0.15):
        self.drop = drop
        self.items = []
        for _ in range(n):
            intent = random.randrange(4)
            words = [random.randrange(42, 80) for _ in range(random.randint(4, 9))]
            words += [2 + intent * 10 + random.randrange(10) for _ in range(2)]
            random.shuffle(words)
            self.items.append({"ids": torch.tensor(words), "intent": intent})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        entry = self.items[i]
        ids = entry["ids"]
        if self.drop > 0:
            ids[torch.rand(len(ids)) < self.drop] = UNK
        return ids, entry["intent"]


def collate(batch):
    ids, intents = zip(*batch)
    return pad_sequence(ids, batch_first=True, padding_value=PAD), torch.tensor(intents)


class IntentNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(80, 24, mode="sum", padding_idx=PAD)
        self.out = nn.Linear(24, 4)

    def forward(self, ids):
        return self.out(torch.tanh(self.bag(ids)))


random.seed(67)
torch.manual_seed(67)
loader = DataLoader(Utterances(400), batch_size=40, shuffle=True, collate_fn=collate)
net = IntentNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    total = 0.0
    for ids, intent in loader:
        loss = nn.functional.cross_entropy(net(ids), intent)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(intent)
    print(f"epoch {epoch}: loss {total / 400:.3f}")
