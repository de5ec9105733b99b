import random
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from torch.nn.utils.rnn import pad_sequence

random.seed(0)
torch.manual_seed(0)
VOCAB = 200


class ReviewDataset(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            length = random.randint(5, 25)
            tokens = [random.randint(1, VOCAB - 1) for _ in range(length)]
            self.items.append((tokens, int(sum(tokens) > 100 * length)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        tokens, label = self.items[idx]
        return tokens, label


def pad_batch(batch):
    tokens = pad_sequence([torch.tensor(t) for t, _ in batch], batch_first=True)
    return tokens, torch.tensor([y for _, y in batch])


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32, padding_idx=0)
        self.out = nn.Linear(32, 2)

    def forward(self, t):
        return self.out(self.emb(t).mean(dim=1))


loader = DataLoader(ReviewDataset(320), batch_size=32, shuffle=True)
model = BagOfWords()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for tokens, labels in loader:
    loss = nn.functional.cross_entropy(model(tokens), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("last loss", loss.item())
