import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

POSITIVE = ["good", "lovely", "great", "fine"]
NEGATIVE = ["bad", "awful", "poor", "boring"]
FILLER = ["this", "film", "was", "really", "the", "plot", "and", "music", "seemed"]


def make_corpus(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    sentences, labels = [], []
    for _ in range(n):
        label = int(torch.randint(0, 2, (1,), generator=g))
        length = int(torch.randint(3, 8, (1,), generator=g))
        words = [FILLER[i] for i in torch.randint(0, len(FILLER), (length,), generator=g).tolist()]
        mood = POSITIVE if label else NEGATIVE
        words.insert(length // 2, mood[int(torch.randint(0, 4, (1,), generator=g))])
        sentences.append(" ".join(words) + ".")
        labels.append(label)
    return sentences, labels


class SentenceDataset(Dataset):
    def __init__(self, sentences, labels):
        self.words = [s.strip(".").split(" ") for s in sentences]
        self.labels = labels

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        return self.words[index], self.labels[index]


class BagOfWords(nn.Module):
    def __init__(self, vocab, dim=16):
        super().__init__()
        self.vocab = vocab
        self.embedding = nn.Embedding(len(vocab) + 1, dim)
        self.fc = nn.Linear(dim, 1)

    def lookup(self, words):
        unk = len(self.vocab)
        return torch.tensor([self.vocab.get(w, unk) for w in words])

    def forward(self, words):
        vectors = self.embedding(self.lookup(words))
        return self.fc(vectors.mean(dim=0))


def accuracy(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for words, label in loader:
            hits += int((model(words) > 0).item() == bool(label.item()))
    return hits / len(loader)


def main():
    torch.manual_seed(0)
    train_set = SentenceDataset(*make_corpus(200, seed=0))
    test_set = SentenceDataset(*make_corpus(100, seed=1))
    vocab = {w: i for i, w in enumerate(sorted({w for s in train_set.words for w in s}))}

    train_loader = DataLoader(train_set, batch_size=1, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=1)

    model = BagOfWords(vocab)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(4):
        model.train()
        total = 0.0
        for words, label in train_loader:
            loss = criterion(model(words), label.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(train_loader):.4f} test accuracy {accuracy(model, test_loader):.2f}")


if __name__ == "__main__":
    main()
