import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

TAGS = ["NOUN", "VERB", "ADJ", "DET"]
WORDS = {
    "NOUN": ["dog", "house", "river", "teacher", "apple"],
    "VERB": ["sees", "likes", "paints", "finds"],
    "ADJ": ["green", "old", "quiet", "large"],
    "DET": ["the", "a", "every"],
}
TAG_TO_ID = {tag: i for i, tag in enumerate(TAGS)}
PAD_WORD = 0
PAD_TAG = 0
VOCAB = {"<pad>": PAD_WORD}
for words in WORDS.values():
    for word in words:
        VOCAB[word] = len(VOCAB)


def make_sentence(g):
    def pick(tag):
        choices = WORDS[tag]
        return choices[int(torch.randint(0, len(choices), (1,), generator=g))], tag

    def phrase():
        adjectives = int(torch.randint(0, 3, (1,), generator=g))
        return [pick("DET")] + [pick("ADJ") for _ in range(adjectives)] + [pick("NOUN")]

    pairs = phrase() + [pick("VERB")] + phrase()
    ids = torch.tensor([VOCAB[w] for w, _ in pairs])
    tags = torch.tensor([TAG_TO_ID[t] for _, t in pairs])
    return ids, tags


def make_corpus(n, seed):
    g = torch.Generator().manual_seed(seed)
    return [make_sentence(g) for _ in range(n)]


def collate(batch):
    ids, tags = zip(*batch)
    lengths = torch.tensor([len(i) for i in ids])
    ids = pad_sequence(ids, batch_first=True, padding_value=PAD_WORD)
    tags = pad_sequence(tags, batch_first=True, padding_value=PAD_TAG)
    return ids, tags, lengths


class Tagger(nn.Module):
    def __init__(self, vocab_size, num_tags, dim=16, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=PAD_WORD)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.hidden2tag = nn.Linear(hidden, num_tags)

    def forward(self, ids):
        out, _ = self.lstm(self.embedding(ids))
        return self.hidden2tag(out)


def evaluate(model, loader):
    model.eval()
    hits, totals = torch.zeros(len(TAGS)), torch.zeros(len(TAGS))
    with torch.no_grad():
        for ids, tags, lengths in loader:
            predicted = model(ids).argmax(dim=-1)
            for p, t, n in zip(predicted, tags, lengths.tolist()):
                for k in range(len(TAGS)):
                    of_k = t[:n] == k
                    hits[k] += (p[:n][of_k] == k).sum()
                    totals[k] += of_k.sum()
    return hits / totals, (hits.sum() / totals.sum()).item()


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_corpus(400, 0), batch_size=32, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(make_corpus(100, 1), batch_size=32, collate_fn=collate)

    model = Tagger(len(VOCAB), len(TAGS))
    criterion = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(5):
        model.train()
        running = 0.0
        for ids, tags, _ in train_loader:
            logits = model(ids)
            loss = criterion(logits.flatten(0, 1), tags.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        per_tag, accuracy = evaluate(model, test_loader)
        print(f"epoch {epoch}: loss {running / len(train_loader):.4f} accuracy {accuracy:.3f}")
    print({tag: round(per_tag[i].item(), 3) for tag, i in TAG_TO_ID.items()})


if __name__ == "__main__":
    main()
