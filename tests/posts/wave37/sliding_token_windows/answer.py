# %% chapter 2 - working with text data
import re

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

raw_text = """
The lighthouse keeper climbed the stairs every night, counting each step aloud. On the coast below,
the fishermen waited for the lamp, for without the lamp there was only the rock and the noise of the sea.
"Is it lit?" the boy would ask. "Not yet," his mother said, "but listen, he has reached the last stair."
Then the lamp turned, and the sea was silver, and the boats came home one after the other.
"""


# %% a very small tokenizer
class SimpleTokenizer:
    def __init__(self, text):
        tokens = self.split(text)
        all_words = sorted(set(tokens)) + ["<|unk|>"]
        self.str_to_int = {tok: i for i, tok in enumerate(all_words)}
        self.int_to_str = {i: tok for tok, i in self.str_to_int.items()}

    @staticmethod
    def split(text):
        parts = re.split(r'([,.:;?_!"()\']|--|\s)', text)
        return [p.strip() for p in parts if p.strip()]

    def encode(self, text):
        unk = self.str_to_int["<|unk|>"]
        return [self.str_to_int.get(t, unk) for t in self.split(text)]

    def decode(self, ids):
        return " ".join(self.int_to_str[i] for i in ids)


tokenizer = SimpleTokenizer(raw_text)
vocab_size = len(tokenizer.str_to_int)
print("vocabulary:", vocab_size, "tokens:", len(tokenizer.encode(raw_text)))


# %% input / target pairs
class WindowDataset(Dataset):
    def __init__(self, txt, tokenizer, max_length, stride):
        self.input_ids = []
        self.target_ids = []

        token_ids = tokenizer.encode(txt)

        for i in range(0, len(token_ids) - max_length, stride):
            input_chunk = token_ids[i:i + max_length]
            target_chunk = token_ids[i + 1:i + max_length + 1]
            self.input_ids.append(torch.tensor(input_chunk))
            self.target_ids.append(torch.tensor(target_chunk))

    def __len__(self):
        return len(self.input_ids)

    def __getitem__(self, idx):
        return self.input_ids[idx], self.target_ids[idx]


def make_dataloader(txt, batch_size=4, max_length=16, stride=8, shuffle=True, drop_last=True):
    dataset = WindowDataset(txt, tokenizer, max_length, stride)
    return DataLoader(dataset, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, num_workers=0)


# %% look at one batch
max_length = 4
dataloader = make_dataloader(raw_text, batch_size=8, max_length=max_length, stride=4, shuffle=False)
data_iter = iter(dataloader)
inputs, targets = next(data_iter)
print("Inputs:\n", inputs)
print("\nTargets:\n", targets)

# %% token + position embeddings and a first training step
torch.manual_seed(123)
output_dim = 32
token_embedding_layer = nn.Embedding(vocab_size, output_dim)
pos_embedding_layer = nn.Embedding(max_length, output_dim)
head = nn.Linear(output_dim, vocab_size)
params = [*token_embedding_layer.parameters(), *pos_embedding_layer.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(params, lr=0.01)

for epoch in range(5):
    total = 0.0
    for inputs, targets in dataloader:
        x = token_embedding_layer(inputs) + pos_embedding_layer(torch.arange(max_length))
        logits = head(x)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: {total / len(dataloader):.3f}")
