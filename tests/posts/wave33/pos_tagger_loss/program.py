import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

EMBEDDING_DIM = 24
HIDDEN_DIM = 32
BATCH_SIZE = 32
NUM_EPOCHS = 4
TAGS = ["DET", "NOUN", "VERB", "ADJ", "ADP", "PRON", "ADV"]


def build_corpus(n, seed):
    rng = random.Random(seed)
    lexicon = {t: ["%s_%d" % (t.lower(), i) for i in range(25)] for t in TAGS}
    corpus = []
    for _ in range(n):
        tags = [rng.choice(TAGS) for _ in range(12)]
        corpus.append(([rng.choice(lexicon[t]) for t in tags], tags))
    return corpus


def encode(corpus, word2ix, tag2ix):
    words = torch.tensor([[word2ix.get(w, 0) for w in ws] for ws, _ in corpus])
    tags = torch.tensor([[tag2ix[t] for t in ts] for _, ts in corpus])
    return words, tags


def batches(words, tags, shuffle):
    order = torch.randperm(len(words)) if shuffle else torch.arange(len(words))
    for i in range(0, len(words), BATCH_SIZE):
        pick = order[i : i + BATCH_SIZE]
        yield words[pick], tags[pick]


class POSTagger(nn.Module):
    def __init__(self, vocab_size, tagset_size):
        super(POSTagger, self).__init__()
        self.word_embeddings = nn.Embedding(vocab_size, EMBEDDING_DIM)
        self.lstm = nn.LSTM(EMBEDDING_DIM, HIDDEN_DIM, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(2 * HIDDEN_DIM, tagset_size)

    def forward(self, sentence):
        out, _ = self.lstm(self.word_embeddings(sentence))
        return F.log_softmax(self.hidden2tag(out), dim=2)


def train(model, data, criterion, optimizer):
    model.train()
    running_loss = 0.0
    running_corrects = 0
    example_count = 0
    for words, tags in batches(*data, shuffle=True):
        optimizer.zero_grad()
        scores = model(words).view(-1, len(TAGS))
        target = tags.view(-1)
        loss = criterion(scores, target)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        running_corrects += (scores.argmax(1) == target).sum().item()
        example_count += target.size(0)
    loss = running_loss / example_count
    acc = running_corrects / example_count
    return loss, acc


def validate(model, data, criterion):
    model.eval()
    total, corrects, count = 0.0, 0, 0
    with torch.no_grad():
        for words, tags in batches(*data, shuffle=False):
            scores = model(words).view(-1, len(TAGS))
            target = tags.view(-1)
            total += criterion(scores, target).item() * target.size(0)
            corrects += (scores.argmax(1) == target).sum().item()
            count += target.size(0)
    return total / count, corrects / count


def main():
    torch.manual_seed(1)
    train_corpus, val_corpus = build_corpus(480, 0), build_corpus(120, 1)
    word2ix = {"<unk>": 0}
    for ws, _ in train_corpus:
        for w in ws:
            word2ix.setdefault(w, len(word2ix))
    tag2ix = {t: i for i, t in enumerate(TAGS)}
    train_data = encode(train_corpus, word2ix, tag2ix)
    val_data = encode(val_corpus, word2ix, tag2ix)

    model = POSTagger(len(word2ix), len(TAGS))
    criterion = nn.NLLLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(NUM_EPOCHS):
        start = time.time()
        train_loss, train_acc = train(model, train_data, criterion, optimizer)
        val_loss, val_acc = validate(model, val_data, criterion)
        print("epoch %d (%.1fs) train loss %.5f acc %.3f | val loss %.5f acc %.3f"
              % (epoch, time.time() - start, train_loss, train_acc, val_loss, val_acc))


if __name__ == "__main__":
    main()
