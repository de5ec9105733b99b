import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, n, n_sent=5, n_word=8, vocab=200, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.docs = torch.randint(1, vocab, (n, n_sent, n_word), generator=g)
        for i, lab in enumerate(self.labels):
            self.docs[i, :, lab] = 10 * (int(lab) + 1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.docs[i], self.labels[i]


class AttnGRU(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.gru = nn.GRU(n_in, hidden, bidirectional=True, batch_first=True)
        self.proj = nn.Linear(2 * hidden, 2 * hidden)
        self.context = nn.Linear(2 * hidden, 1, bias=False)

    def forward(self, x, h):
        out, h = self.gru(x, h)
        weight = F.softmax(self.context(torch.tanh(self.proj(out))), dim=1)
        return (weight * out).sum(dim=1), h


class HierAttNet(nn.Module):
    def __init__(self, vocab, emb, word_hidden, sent_hidden, batch_size, n_classes):
        super().__init__()
        self.word_hidden, self.sent_hidden = word_hidden, sent_hidden
        self.embed = nn.Embedding(vocab, emb)
        self.word_att = AttnGRU(emb, word_hidden)
        self.sent_att = AttnGRU(2 * word_hidden, sent_hidden)
        self.fc = nn.Linear(2 * sent_hidden, n_classes)
        self._init_hidden_state(batch_size)

    def _init_hidden_state(self, batch_size):
        self.word_state = torch.zeros(2, batch_size, self.word_hidden)
        self.sent_state = torch.zeros(2, batch_size, self.sent_hidden)

    def forward(self, docs):
        sentences = []
        for sent in docs.permute(1, 0, 2):
            vec, self.word_state = self.word_att(self.embed(sent), self.word_state)
            sentences.append(vec)
        doc, self.sent_state = self.sent_att(torch.stack(sentences, dim=1), self.sent_state)
        return self.fc(doc)


def train(opt):
    torch.manual_seed(123)
    train_loader = DataLoader(Reviews(300, seed=0), batch_size=opt.batch_size, shuffle=True)
    test_loader = DataLoader(Reviews(70, seed=1), batch_size=opt.batch_size)
    model = HierAttNet(200, 32, 24, 24, opt.batch_size, 3)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    for epoch in range(opt.num_epoches):
        model.train()
        for it, (feature, label) in enumerate(train_loader):
            optimizer.zero_grad()
            model._init_hidden_state(opt.batch_size)
            predictions = model(feature)
            loss = criterion(predictions, label)
            loss.backward()
            optimizer.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for feature, label in test_loader:
                model._init_hidden_state(len(label))
                hits += (model(feature).argmax(1) == label).sum().item()
        print(f"Epoch: {epoch + 1}/{opt.num_epoches}, loss: {loss.item():.4f}, acc: {hits / 70:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--num_epoches", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    train(parser.parse_args())
