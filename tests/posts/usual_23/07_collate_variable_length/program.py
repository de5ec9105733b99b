import random
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

POSITIVE = "loved great wonderful funny brilliant touching".split()
NEGATIVE = "boring terrible waste awful slow bad".split()
NEUTRAL = "the movie was a plot and acting with sound script friends time".split()


def make_sentences(n):
    rng = random.Random(0)
    data = []
    for _ in range(n):
        label = rng.randint(0, 1)
        words = rng.choices(NEUTRAL, k=rng.randint(3, 9))
        words.insert(rng.randint(0, len(words)), rng.choice(POSITIVE if label else NEGATIVE))
        data.append((" ".join(words), label))
    return data


def build_vocab(sentences):
    vocab = {"<pad>": 0, "<unk>": 1}
    for s, _ in sentences:
        for tok in s.split():
            vocab.setdefault(tok, len(vocab))
    return vocab


class TextDataset(Dataset):
    def __init__(self, data, vocab):
        self.data = data
        self.vocab = vocab

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        sentence, label = self.data[idx]
        ids = [self.vocab.get(t, self.vocab["<unk>"]) for t in sentence.split()]
        return torch.tensor(ids, dtype=torch.long), torch.tensor(label)


def collate_batch(batch):
    ids, labels = zip(*batch)
    ids = pad_sequence(ids, batch_first=True, padding_value=0)
    return ids, torch.stack(labels)


class Classifier(nn.Module):
    def __init__(self, vocab_size, dim=32, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.fc = nn.Linear(dim, classes)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1).float()
        pooled = (self.emb(ids) * mask).sum(1) / mask.sum(1)
        return self.fc(pooled)


torch.manual_seed(0)
sentences = make_sentences(160)
split = int(0.8 * len(sentences))
vocab = build_vocab(sentences[:split])
train_loader = DataLoader(TextDataset(sentences[:split], vocab), batch_size=8, shuffle=True)
test_loader = DataLoader(TextDataset(sentences[split:], vocab), batch_size=8, collate_fn=collate_batch)

model = Classifier(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    for ids, labels in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(ids), labels)
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for ids, labels in test_loader:
            correct += (model(ids).argmax(1) == labels).sum().item()
    print(f"epoch {epoch}: test acc {correct / len(test_loader.dataset):.3f}")
