import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def make_sentence():
    n = int(torch.randint(3, 60, (1,)))
    words = torch.randint(1, 50, (n,))
    return words, int(words[-1] > 25)


def collate(batch):
    words, labels = zip(*batch)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True, padding_value=0), lengths, torch.tensor(labels)


class SentenceModel(nn.Module):
    def __init__(self, vocab=50, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.gru = nn.GRU(dim, 64, batch_first=True)
        self.classify = nn.Linear(64, 2)

    def forward(self, x, lengths):
        out, _ = self.gru(self.embed(x))
        last = out[torch.arange(len(x)), lengths - 1]
        return self.classify(last)


torch.manual_seed(1)
train_set = [make_sentence() for _ in range(1500)]
valid_set = [make_sentence() for _ in range(300)]
train_dl = DataLoader(train_set, batch_size=32, shuffle=True, collate_fn=collate)
valid_dl = DataLoader(valid_set, batch_size=64, collate_fn=collate)

model = SentenceModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(4):
    model.train()
    for x, lengths, y in train_dl:
        opt.zero_grad()
        loss = ce(model(x, lengths), y)
        loss.backward()
        opt.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, lengths, y in valid_dl:
            correct += (model(x, lengths).argmax(1) == y).sum().item()
    print("epoch", epoch, "valid accuracy", correct / len(valid_set))
