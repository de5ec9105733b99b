import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument('--max_seq_length', default=64, type=int)
parser.add_argument('--train_batch_size', default=16, type=int)
parser.add_argument('--epochs', default=1, type=int)
parser.add_argument('--seed', default=42, type=int)
args = parser.parse_args()
torch.manual_seed(args.seed)


class Processor:
    def __init__(self, vocab_size=800):
        self.rng = np.random.RandomState(args.seed)
        self.vocab_size = vocab_size

    def read(self, n):
        return [(self.rng.randint(3, self.vocab_size, self.rng.randint(10, 90)).tolist(), int(self.rng.rand() < 0.5)) for _ in range(n)]

    def features(self, examples):
        n, length = len(examples), args.max_seq_length
        input_ids = np.zeros((n, length), dtype=np.float32)
        input_mask = np.zeros((n, length), dtype=np.float32)
        for i, (tokens, _) in enumerate(examples):
            tokens = [1] + tokens[:length - 2] + [2]
            input_ids[i, :len(tokens)] = tokens
            input_mask[i, :len(tokens)] = 1
        labels = np.array([label for _, label in examples])
        return input_ids, input_mask, labels


class ErnieClassifier(nn.Module):
    def __init__(self, vocab_size, hidden=96, num_labels=2):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, hidden, padding_idx=0)
        self.position_embeddings = nn.Embedding(args.max_seq_length, hidden)
        self.norm = nn.LayerNorm(hidden)
        layer = nn.TransformerEncoderLayer(hidden, 6, 192, activation='gelu', batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.pooler = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh())
        self.classifier = nn.Linear(hidden, num_labels)

    def forward(self, input_ids, input_mask):
        position = torch.arange(input_ids.size(1), device=input_ids.device)
        x = self.word_embeddings(input_ids) + self.position_embeddings(position)
        x = self.encoder(self.norm(x), src_key_padding_mask=input_mask == 0)
        return self.classifier(self.pooler(x[:, 0]))


processor = Processor()
input_ids, input_mask, labels = processor.features(processor.read(56))
train_data = TensorDataset(torch.from_numpy(input_ids), torch.from_numpy(input_mask), torch.from_numpy(labels))
train_loader = DataLoader(train_data, sampler=RandomSampler(train_data), batch_size=args.train_batch_size)
model = ErnieClassifier(processor.vocab_size)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)

for epoch in range(args.epochs):
    model.train()
    for step, (ids, mask, label) in enumerate(train_loader):
        logits = model(ids, mask)
        loss = nn.functional.cross_entropy(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f'epoch {epoch} step {step} loss {loss.item():.4f}')
