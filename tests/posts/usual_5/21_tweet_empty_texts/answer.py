import re
import random
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import Dataset, DataLoader

random.seed(21)
torch.manual_seed(21)

STOPWORDS = {"i", "am", "is", "it", "the", "a", "to", "so", "this", "and", "was", "me", "you", "of", "what"}
PAD, UNK = 0, 1

GOOD = ["love", "great", "awesome", "happy", "thanks", "beautiful", "perfect"]
BAD = ["hate", "awful", "terrible", "sad", "broken", "worst", "delayed"]
FILLER = ["flight", "phone", "coffee", "the", "this", "was", "so", "today", "service", "it", "and"]


def fake_tweets(n):
    tweets = []
    for i in range(n):
        label = random.randint(0, 1)
        words = random.choices(FILLER, k=random.randint(2, 8)) + [random.choice(GOOD if label else BAD)]
        random.shuffle(words)
        text = "@user%d " % random.randint(1, 99) + " ".join(words) + random.choice(["", "!!", " http://t.co/x1"])
        tweets.append((text, label))
    # as in the real dump, some people only answer in short
    for reply in ["@user7 what is this", "@user12 so you", "http://t.co/a8 :)", "@user3 it is !!!"]:
        tweets.append((reply, random.randint(0, 1)))
    random.shuffle(tweets)
    return tweets


def clean(text):
    text = re.sub(r"@\w+|http\S+", " ", text.lower())
    words = re.findall(r"[a-z']+", text)
    return [w for w in words if w not in STOPWORDS]


class Tweets(Dataset):
    def __init__(self, pairs, vocab):
        self.samples = [([vocab.get(w, UNK) for w in words], label) for words, label in pairs]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


def collate_batch(batch):
    seqs = [torch.tensor(ids, dtype=torch.long) for ids, _ in batch]
    lengths = torch.tensor([len(s) for s in seqs])
    labels = torch.tensor([label for _, label in batch], dtype=torch.float32)
    return pad_sequence(seqs, batch_first=True, padding_value=PAD), lengths, labels


class TweetGRU(nn.Module):
    def __init__(self, vocab_size, emb=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, 1)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.emb(ids), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, h = self.rnn(packed)
        return self.fc(torch.cat([h[0], h[1]], dim=1)).squeeze(1)


tweets = [(clean(text), label) for text, label in fake_tweets(600)]
tweets = [(words, label) for words, label in tweets if words]
cut = int(0.85 * len(tweets))
counts = Counter(w for words, _ in tweets[:cut] for w in words)
vocab = {"<pad>": PAD, "<unk>": UNK}
for w, _ in counts.most_common():
    vocab[w] = len(vocab)

train_loader = DataLoader(Tweets(tweets[:cut], vocab), batch_size=32, shuffle=True, collate_fn=collate_batch)
test_loader = DataLoader(Tweets(tweets[cut:], vocab), batch_size=32, collate_fn=collate_batch)
model = TweetGRU(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(3):
    model.train()
    for ids, lengths, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(ids, lengths), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    right = total = 0
    with torch.no_grad():
        for ids, lengths, labels in test_loader:
            right += ((model(ids, lengths) > 0).float() == labels).sum().item()
            total += len(labels)
    print(f"epoch {epoch}: test accuracy {right / total:.3f}")
