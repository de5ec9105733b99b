import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

VOCAB, TAGS = 40, 6


def collate(batch):
    batch = sorted(batch, key=lambda s: len(s[0]), reverse=True)
    lens = [len(s[0]) for s in batch]
    words = pad_sequence([s[0] for s in batch], batch_first=True)
    tags = pad_sequence([s[1] for s in batch], batch_first=True, padding_value=-100)
    return words, tags, lens


class Tagger(nn.Module):
    def __init__(self, emb=24, hidden=32):
        super(Tagger, self).__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(VOCAB, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, TAGS)

    def forward(self, words, lens):
        x = pack_padded_sequence(self.embedding(words), lens, batch_first=True)
        h0 = torch.zeros(1, words.size(0), self.hidden)
        c0 = torch.zeros(1, words.size(0), self.hidden)
        packed_h, (h_t, c_t) = self.lstm(x, (h0, c0))
        h, _ = pad_packed_sequence(packed_h, batch_first=True)
        return self.out(h)


torch.manual_seed(0)
sentences = []
for _ in range(80):
    n = int(torch.randint(4, 13, (1,)))
    words = torch.randint(1, VOCAB, (n,))
    sentences.append((words, words % TAGS))

loader = DataLoader(sentences, batch_size=10, shuffle=True, collate_fn=collate)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss(ignore_index=-100)

for epoch in range(8):
    hits = count = 0
    for words, tags, lens in loader:
        optimizer.zero_grad()
        scores = model(words, lens).view(-1, TAGS)
        gold = tags.view(-1)
        loss = criterion(scores, gold)
        loss.backward()
        optimizer.step()
        real = gold != -100
        hits += (scores.argmax(1)[real] == gold[real]).sum().item()
        count += real.sum().item()
    print("epoch %d loss %.3f accuracy %.3f" % (epoch, loss.item(), hits / count))
