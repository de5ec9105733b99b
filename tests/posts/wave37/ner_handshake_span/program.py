import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from transformers import BertConfig, BertModel


class Args:
    max_seq_len = 32
    batch_size = 8
    epochs = 1
    lr = 1e-3
    labels = ['NAME', 'ORG', 'TITLE']


args = Args()
random.seed(9)
torch.manual_seed(9)

NAMES = ['Chen Bo', 'Maria Lund', 'Tariq Aziz', 'Eva Roth']
ORGS = ['Nordbank', 'Ostia Steel', 'Blue Harbour']
TITLES = ['engineer', 'vice chair', 'auditor']


def make_corpus(n):
    rows = []
    for _ in range(n):
        name, title, org = random.choice(NAMES), random.choice(TITLES), random.choice(ORGS)
        filler = random.choice(['', 'since 2003 ', 'born in 1961, for many years '])
        text = '%s, %s %sat %s' % (name, filler, title, org)
        ents = []
        for word, tag in ((name, 'NAME'), (title, 'TITLE'), (org, 'ORG')):
            start = text.index(word)
            ents.append((start, start + len(word) - 1, tag))
        rows.append({'text': text, 'entities': ents})
    return rows


class CharTokenizer:
    def __init__(self, rows):
        chars = sorted({c for r in rows for c in r['text']})
        self.c2i = {c: i + 1 for i, c in enumerate(chars)}

    def __call__(self, text, max_len):
        ids = [self.c2i[c] for c in text][:max_len]
        mask = [1] * len(ids)
        pad = max_len - len(ids)
        return ids + [0] * pad, mask + [0] * pad


class SpanData(Dataset):
    def __init__(self, rows, tokenizer):
        self.rows, self.tokenizer = rows, tokenizer
        self.tag2id = {t: i for i, t in enumerate(args.labels)}
        pairs = [(i, j) for i in range(args.max_seq_len) for j in range(i, args.max_seq_len)]
        self.map_ij2k = {p: k for k, p in enumerate(pairs)}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

    def collate_fn(self, examples):
        ids, masks = [], []
        labels = torch.zeros(len(examples), len(self.map_ij2k), len(self.tag2id))
        for n, ex in enumerate(examples):
            input_ids, mask = self.tokenizer(ex['text'], args.max_seq_len)
            ids.append(input_ids)
            masks.append(mask)
            for start, end, tag in ex['entities']:
                labels[n, self.map_ij2k[start, end], self.tag2id[tag]] = 1
        return {'input_ids': torch.tensor(ids), 'attention_mask': torch.tensor(masks), 'labels': labels}


class HandshakingNer(nn.Module):
    def __init__(self, vocab_size, num_tags):
        super().__init__()
        config = BertConfig(vocab_size=vocab_size, hidden_size=48, num_hidden_layers=1, num_attention_heads=4,
                            intermediate_size=96, max_position_embeddings=64)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.combine = nn.Linear(96, 48)
        self.out = nn.Linear(48, num_tags)

    def forward(self, input_ids, attention_mask):
        hidden = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state
        seq_len = hidden.size(1)
        i, j = torch.triu_indices(seq_len, seq_len)
        shaken = torch.cat([hidden[:, i], hidden[:, j]], dim=-1)
        return self.out(torch.tanh(self.combine(shaken)))


def multilabel_loss(y_pred, y_true):
    y_pred = (1 - 2 * y_true) * y_pred
    neg = y_pred - y_true * 1e12
    pos = y_pred - (1 - y_true) * 1e12
    zeros = torch.zeros_like(y_pred[:, :1])
    return (torch.logsumexp(torch.cat([neg, zeros], 1), 1) + torch.logsumexp(torch.cat([pos, zeros], 1), 1)).mean()


def main():
    rows = make_corpus(160)
    tokenizer = CharTokenizer(rows)
    train_set = SpanData(rows, tokenizer)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, collate_fn=train_set.collate_fn)
    model = HandshakingNer(len(tokenizer.c2i) + 1, len(args.labels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        history = []
        for batch_data in train_loader:
            labels = batch_data.pop('labels')
            logits = model(**batch_data)
            loss = multilabel_loss(logits.transpose(1, 2).flatten(0, 1), labels.transpose(1, 2).flatten(0, 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append(loss.item())
        print('epoch %d loss %.4f' % (epoch + 1, np.mean(history)))


if __name__ == '__main__':
    main()
