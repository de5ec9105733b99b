import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VOCAB_SIZE = 300
NUM_CLASSES = 5


class Documents(Dataset):
    """Each document: sentences x words, padded with 0."""

    def __init__(self, n, sentences=6, words=10, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.docs = torch.randint(1, VOCAB_SIZE, (n, sentences, words), generator=g)
        self.labels = torch.randint(0, NUM_CLASSES, (n,), generator=g)
        self.docs[:, 0, 0] = self.labels + 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.docs[i], self.labels[i]


class WordLevelRNN(nn.Module):
    def __init__(self, embed_dim=32, hidden=25):
        super().__init__()
        self.embed = nn.Embedding(VOCAB_SIZE, embed_dim, padding_idx=0)
        self.gru = nn.GRU(embed_dim, hidden, bidirectional=True)
        self.linear = nn.Linear(2 * hidden, 2 * hidden)
        self.context = nn.Linear(2 * hidden, 1, bias=False)
        self.soft_word = nn.Softmax(dim=1)

    def forward(self, x):
        # x: (words, batch)
        h, _ = self.gru(self.embed(x))
        u = torch.tanh(self.linear(h))
        scores = self.context(u)
        scores = scores.squeeze(2)
        alpha = self.soft_word(scores.transpose(0, 1))
        pooled = torch.bmm(alpha.unsqueeze(1), h.permute(1, 0, 2))
        return pooled.transpose(0, 1)


class SentLevelRNN(nn.Module):
    def __init__(self, word_hidden=25, hidden=25):
        super().__init__()
        self.gru = nn.GRU(2 * word_hidden, hidden, bidirectional=True)
        self.linear = nn.Linear(2 * hidden, 2 * hidden)
        self.context = nn.Linear(2 * hidden, 1, bias=False)
        self.soft_sent = nn.Softmax(dim=1)
        self.fc = nn.Linear(2 * hidden, NUM_CLASSES)

    def forward(self, x):
        h, _ = self.gru(x)
        u = torch.tanh(self.linear(h))
        alpha = self.soft_sent(self.context(u).squeeze(2).transpose(0, 1))
        doc = torch.bmm(alpha.unsqueeze(1), h.permute(1, 0, 2)).squeeze(1)
        return self.fc(doc)


class HAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_attention = WordLevelRNN()
        self.sentence_attention = SentLevelRNN()

    def forward(self, docs):
        sentences = [self.word_attention(docs[:, i, :].t()) for i in range(docs.size(1))]
        return self.sentence_attention(torch.cat(sentences, dim=0))


def evaluate(model, loader):
    model.eval()
    right, total = 0, 0
    with torch.no_grad():
        for docs, labels in loader:
            right += (model(docs).argmax(dim=1) == labels).sum().item()
            total += labels.size(0)
    return right / total


def main():
    torch.manual_seed(1)
    train_loader = DataLoader(Documents(96), batch_size=16, shuffle=True)
    dev_loader = DataLoader(Documents(33, seed=1), batch_size=1)
    model = HAN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(2):
        model.train()
        total = 0.0
        for docs, labels in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(docs), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * labels.size(0)
        print("epoch", epoch, "loss", total / len(train_loader.dataset))
        print("dev accuracy", evaluate(model, dev_loader))


if __name__ == "__main__":
    main()
