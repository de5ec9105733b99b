# line 29: the widest filter spans 7 words but short headlines are padded only to the longest of the batch; mended by: padding the batch to at least the widest filter
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

HEADLINES = [
    ("stocks fall after rate rise", 0), ("cup final ends in draw", 1),
    ("bank posts record profit", 0), ("striker signs new deal", 1),
    ("oil price slips again", 0), ("coach quits after defeat", 1),
    ("markets calm before vote", 0), ("rain stops the test match", 1),
    ("tax plan worries small firms", 0), ("sprinter breaks world record", 1),
]
FILTERS = (3, 5, 7)

vocab = {"<pad>": 0, "<unk>": 1}
for text, _ in HEADLINES:
    for w in text.split():
        vocab.setdefault(w, len(vocab))


def encode(text):
    return torch.tensor([vocab.get(w, 1) for w in text.split()])


def collate(batch):
    texts, labels = zip(*batch)
    ids = pad_sequence([encode(t) for t in texts], batch_first=True)
    ids = nn.functional.pad(ids[:, :50], (0, max(0, max(FILTERS) - ids.size(1))))
    return ids, torch.tensor(labels)


class TextCNN(nn.Module):
    def __init__(self, n_vocab, dim=24, n_filters=10, n_class=2):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, n_filters, k) for k in FILTERS])
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(n_filters * len(FILTERS), n_class)

    def forward(self, ids):
        e = self.emb(ids).transpose(1, 2)
        pooled = [torch.relu(c(e)).max(dim=2)[0] for c in self.convs]
        return self.fc(self.drop(torch.cat(pooled, dim=1)))


loader = DataLoader(HEADLINES, batch_size=5, shuffle=True, collate_fn=collate)
model = TextCNN(len(vocab))
optimizer = torch.optim.Adadelta(model.parameters())
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    correct = 0
    for ids, labels in loader:
        out = model(ids)
        loss = criterion(out, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (out.argmax(1) == labels).sum().item()
    print("epoch", epoch, "acc", correct / len(HEADLINES))
