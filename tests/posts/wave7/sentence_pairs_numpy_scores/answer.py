import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

MAX_LEN = 16


class InputExample:
    def __init__(self, texts, label):
        self.texts = texts
        self.label = label


class SentencesDataset(Dataset):
    def __init__(self, examples):
        self.examples = examples

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, i):
        return self.examples[i]


class SentenceEncoder(nn.Module):
    def __init__(self, vocab_size=200, dim=64, layers=2):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.position_embeddings = nn.Embedding(MAX_LEN, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, dim_feedforward=128, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, input_ids):
        mask = input_ids.ne(0)
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.word_embeddings(input_ids) + self.position_embeddings(positions)
        x = self.encoder(x, src_key_padding_mask=~mask)
        mask = mask.unsqueeze(-1).float()
        return (x * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


class CosineSimilarityLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.loss_fct = nn.BCELoss()

    def forward(self, features, labels):
        a, b = [self.model(f) for f in features]
        output = torch.cosine_similarity(a, b)
        output = (output + 1) / 2
        return self.loss_fct(output.clamp(0, 1), labels.view(-1))


def tokenize(texts):
    ids = torch.zeros(len(texts), MAX_LEN, dtype=torch.long)
    for row, text in zip(ids, texts):
        words = [1 + sum(map(ord, w)) % 199 for w in text.split()][:MAX_LEN]
        row[:len(words)] = torch.tensor(words)
    return ids


def smart_batching_collate(batch):
    first, second = zip(*[example.texts for example in batch])
    labels = torch.from_numpy(np.array([example.label for example in batch], dtype=np.float32))
    return [tokenize(first), tokenize(second)], labels


def fit(model, train_dataloader, train_loss, epochs=1, lr=2e-5):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        for features, labels in train_dataloader:
            loss_value = train_loss(features, labels)
            loss_value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        print('epoch', epoch, 'loss', loss_value.item())


rng = np.random.RandomState(4)
words = ['price', 'of', 'a', 'flight', 'hotel', 'to', 'rome', 'cheap', 'train', 'ticket', 'room', 'night']
train_examples = []
for _ in range(128):
    a = list(rng.choice(words, 6))
    keep = rng.randint(0, 7)
    b = a[:keep] + list(rng.choice(words, 6 - keep))
    train_examples.append(InputExample([' '.join(a), ' '.join(b)], keep / 6))

torch.manual_seed(0)
model = SentenceEncoder()
train_dataloader = DataLoader(SentencesDataset(train_examples), shuffle=True, batch_size=16,
                              collate_fn=smart_batching_collate)
fit(model, train_dataloader, CosineSimilarityLoss(model), epochs=2)
