import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD_ID, IGNORE = 0, -100
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


class CRF(nn.Module):
    def __init__(self, num_tags):
        super().__init__()
        self.start = nn.Parameter(torch.empty(num_tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(num_tags).uniform_(-0.1, 0.1))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags).uniform_(-0.1, 0.1))

    def forward(self, emissions, tags, mask):
        emissions, tags, mask = emissions.transpose(0, 1), tags.t(), mask.t()
        return (self._score(emissions, tags, mask) - self._normalizer(emissions, mask)).mean()

    def _score(self, emissions, tags, mask):
        seq_len, batch = tags.shape
        rows = torch.arange(batch)
        weight = mask.float()
        score = self.start[tags[0]] + emissions[0, rows, tags[0]]
        for i in range(1, seq_len):
            score = score + self.transitions[tags[i - 1], tags[i]] * weight[i]
            score = score + emissions[i, rows, tags[i]] * weight[i]
        last = tags[mask.long().sum(0) - 1, rows]
        return score + self.end[last]

    def _normalizer(self, emissions, mask):
        score = self.start + emissions[0]
        for i in range(1, emissions.size(0)):
            step = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            score = torch.where(mask[i].unsqueeze(1), torch.logsumexp(step, dim=1), score)
        return torch.logsumexp(score + self.end, dim=1)


class Tagger(nn.Module):
    def __init__(self, vocab_size, num_tags, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=PAD_ID)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(dim * 2, num_tags)
        self.crf = CRF(num_tags)
        self.ce = nn.CrossEntropyLoss(ignore_index=IGNORE)

    def forward(self, tokens, labels):
        mask = tokens != PAD_ID
        emissions = self.hidden2tag(self.lstm(self.embedding(tokens))[0])
        aux = self.ce(emissions.flatten(0, 1), labels.flatten())
        log_likelihood = self.crf(emissions, labels.masked_fill(labels == IGNORE, 0), mask)
        return -log_likelihood + 0.1 * aux, emissions


class Sentences(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.data = []
        for _ in range(n):
            length = int(torch.randint(4, 12, (1,), generator=g))
            tags = [0]
            while len(tags) < length:
                kind = int(torch.randint(0, 4, (1,), generator=g))
                tags += {1: [1, 2], 2: [3, 4], 3: [3]}.get(kind, [0])
            tags = torch.tensor(tags[:length])
            tokens = 1 + tags * 20 + torch.randint(0, 20, (length,), generator=g)
            self.data.append((tokens, tags))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def collate(batch):
    longest = max(len(t) for t, _ in batch)
    tokens = torch.full((len(batch), longest), PAD_ID)
    labels = torch.full((len(batch), longest), IGNORE)
    for i, (t, y) in enumerate(batch):
        tokens[i, :len(t)] = t
        labels[i, :len(y)] = y
    return tokens, labels


def main():
    torch.manual_seed(0)
    train = DataLoader(Sentences(256, 1), batch_size=16, shuffle=True, collate_fn=collate)
    dev = DataLoader(Sentences(64, 2), batch_size=16, collate_fn=collate)
    model = Tagger(vocab_size=1 + 20 * len(TAGS), num_tags=len(TAGS))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        model.train()
        total = 0.0
        for tokens, labels in train:
            loss, _ = model(tokens, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        right = count = 0
        with torch.no_grad():
            for tokens, labels in dev:
                _, emissions = model(tokens, labels)
                keep = labels != IGNORE
                right += (emissions.argmax(-1)[keep] == labels[keep]).sum().item()
                count += keep.sum().item()
        print("epoch %d  loss %.3f  dev acc %.3f" % (epoch, total / len(train), right / count))


if __name__ == "__main__":
    main()
