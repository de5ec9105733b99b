import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader

torch.manual_seed(123)
random.seed(123)

BATCH_SIZE = 16
NUM_EPOCHS = 3
EMBEDDING_DIM, HIDDEN_DIM = 24, 32


def make_reviews(n, noise):
    words = {0: ["awful", "boring", "weak", "bad"], 1: ["great", "lovely", "superb", "good"]}
    filler = ["the", "film", "was", "a", "plot", "actor", "scene", "and", "very"]
    rows = []
    for _ in range(n):
        label = random.randint(0, 1)
        text = [random.choice(filler) for _ in range(random.randint(4, 25))]
        text.insert(random.randrange(len(text)), random.choice(words[label]))
        if random.random() < noise:
            label = 1 - label
        rows.append((label, " ".join(text)))
    return rows


train_list = make_reviews(600, noise=0.0)
valid_list = make_reviews(120, noise=0.15)
test_list = make_reviews(200, noise=0.15)

vocab = {"<unk>": 0, "<pad>": 1}
for _, text in train_list:
    for tok in text.split():
        vocab.setdefault(tok, len(vocab))


def collate_batch(batch):
    label_list, text_list, lengths = [], [], []
    for label, text in batch:
        ids = torch.tensor([vocab.get(t, 0) for t in text.split()])
        label_list.append(label)
        text_list.append(ids)
        lengths.append(len(ids))
    return torch.tensor(label_list), pad_sequence(text_list, padding_value=1), torch.tensor(lengths)


class BatchSamplerSimilarLength:
    def __init__(self, dataset, batch_size, indices=None, shuffle=True):
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.indices = [(i, len(s[1].split())) for i, s in enumerate(dataset)]

    def __iter__(self):
        if self.shuffle:
            random.shuffle(self.indices)
        pooled = []
        for i in range(0, len(self.indices), self.batch_size * 10):
            pooled.extend(sorted(self.indices[i:i + self.batch_size * 10], key=lambda x: x[1]))
        pooled = [x[0] for x in pooled]
        for i in range(0, len(pooled), self.batch_size):
            yield pooled[i:i + self.batch_size]

    def __len__(self):
        return (len(self.indices) + self.batch_size - 1) // self.batch_size


train_loader = DataLoader(train_list,
                          batch_sampler=BatchSamplerSimilarLength(dataset=train_list, batch_size=BATCH_SIZE),
                          collate_fn=collate_batch)
valid_loader = DataLoader(train_list,
                          batch_sampler=BatchSamplerSimilarLength(dataset=valid_list, batch_size=BATCH_SIZE, shuffle=False),
                          collate_fn=collate_batch)
test_loader = DataLoader(train_list,
                         batch_sampler=BatchSamplerSimilarLength(dataset=test_list, batch_size=BATCH_SIZE, shuffle=False),
                         collate_fn=collate_batch)


class RNN(nn.Module):
    def __init__(self, input_dim, embedding_dim, hidden_dim, output_dim):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, embedding_dim, padding_idx=1)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, text, lengths):
        packed = pack_padded_sequence(self.embedding(text), lengths, enforce_sorted=False)
        _, (hidden, _) = self.rnn(packed)
        return self.fc(hidden[-1])


def compute_accuracy(model, loader):
    correct, count = 0, 0
    with torch.no_grad():
        for labels, text, lengths in loader:
            correct += (model(text, lengths).argmax(1) == labels).sum().item()
            count += labels.size(0)
    return 100.0 * correct / count


model = RNN(len(vocab), EMBEDDING_DIM, HIDDEN_DIM, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(NUM_EPOCHS):
    model.train()
    for labels, text, lengths in train_loader:
        loss = nn.functional.cross_entropy(model(text, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    print(f"epoch {epoch + 1} train {compute_accuracy(model, train_loader):.1f}% valid {compute_accuracy(model, valid_loader):.1f}%")
print(f"test {compute_accuracy(model, test_loader):.1f}%")
