import random
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split

VOCAB_SIZE = 60000
PAD, CLS, SEP = 0, 101, 102
MAX_LENGTH = 32


class WordpieceTokenizer:
    def __init__(self, vocab_size):
        rng = random.Random(11)
        ids = list(range(1000, vocab_size))
        rng.shuffle(ids)
        self.vocab = {'w%d' % i: ids[i] for i in range(5000)}

    def encode(self, text):
        return [CLS] + [self.vocab[w] for w in text.split()] + [SEP]


def write_lines(n=200):
    rng = random.Random(5)
    lines = []
    for _ in range(n):
        start = rng.randint(0, 4900)
        lines.append(' '.join('w%d' % (start + rng.randint(0, 60)) for _ in range(rng.randint(8, 40))))
    return lines


def tokenize_corpus(lines, tokenizer, max_length):
    rows = []
    for line in lines:
        ids = tokenizer.encode(line)[:max_length]
        ids = ids + [PAD] * (max_length - len(ids))
        rows.append(torch.tensor(ids).to(torch.int16))
    return torch.stack(rows)


class TokenDataset(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return self.rows.size(0)

    def __getitem__(self, i):
        return self.rows[i].long()


def corrupt(ids, prob=0.15):
    maskable = (ids != PAD) & (ids != CLS) & (ids != SEP)
    chosen = (torch.rand(ids.shape) < prob) & maskable
    random_ids = torch.randint(1000, VOCAB_SIZE, ids.shape)
    corrupted = torch.where(chosen, random_ids, ids)
    return corrupted, (corrupted != ids).float()


class Discriminator(nn.Module):
    def __init__(self, vocab_size, dim=48, heads=4, layers=2, max_length=MAX_LENGTH):
        super().__init__()
        self.word = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_length, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(dim, 1)

    def forward(self, ids):
        positions = torch.arange(ids.size(1), device=ids.device)
        x = self.word(ids) + self.pos(positions)
        x = self.encoder(x, src_key_padding_mask=ids.eq(PAD))
        return self.head(x).squeeze(-1)


def run_epoch(model, loader, optimizer=None):
    criterion = nn.BCEWithLogitsLoss(reduction='none')
    model.train(optimizer is not None)
    total = 0.0
    for ids in loader:
        inputs, labels = corrupt(ids)
        mask = ids.ne(PAD).float()
        with torch.set_grad_enabled(optimizer is not None):
            loss = (criterion(model(inputs), labels) * mask).sum() / mask.sum()
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    tokenizer = WordpieceTokenizer(VOCAB_SIZE)
    rows = tokenize_corpus(write_lines(), tokenizer, MAX_LENGTH)
    train_set, valid_set = random_split(TokenDataset(rows), [160, 40])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=16)
    model = Discriminator(VOCAB_SIZE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, eps=1e-6)
    for epoch in range(2):
        train_loss = run_epoch(model, train_loader, optimizer)
        valid_loss = run_epoch(model, valid_loader)
        print('epoch %d train %.4f valid %.4f' % (epoch, train_loss, valid_loss))


if __name__ == '__main__':
    main()
