import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0


class BagOfWords(nn.Module):
    def __init__(self, vocab_size, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.classifier = nn.Linear(dim, 2)
        self.reset()

    def reset(self):
        nn.init.uniform_(self.embedding.weight, -0.5, 0.5)
        with torch.no_grad():
            self.embedding.weight[PAD].fill_(0)
        nn.init.xavier_uniform_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, ids):
        return self.classifier(self.embedding(ids).sum(dim=1))


def make_example():
    ids = torch.randint(1, 100, (int(torch.randint(2, 25, (1,))),))
    return ids, int((ids < 50).float().mean() > 0.5)


def collate(examples):
    ids, labels = zip(*examples)
    return pad_sequence(ids, batch_first=True, padding_value=PAD), torch.tensor(labels)


train = [make_example() for _ in range(2000)]
test = [make_example() for _ in range(400)]
loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
model = BagOfWords(100)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(4):
    model.train()
    for ids, labels in loader:
        optimizer.zero_grad()
        loss_fn(model(ids), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        correct = sum((model(ids).argmax(1) == y).sum().item()
                      for ids, y in DataLoader(test, batch_size=100, collate_fn=collate))
    print(f"epoch {epoch}: test accuracy {correct / len(test):.3f}")
with torch.no_grad():
    short = test[0][0][None]
    print(model(short), model(nn.functional.pad(short, (0, 20), value=PAD)))
