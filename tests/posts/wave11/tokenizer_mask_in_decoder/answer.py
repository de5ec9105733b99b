import random

import torch
import torch.nn as nn
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader, Dataset
from transformers import PreTrainedTokenizerFast

torch.manual_seed(0)
random.seed(0)

WORDS = "a the man woman dog cat child rides eats sees red blue small big bike apple ball in on park street".split()
vocab = {w: i for i, w in enumerate(["<pad>", "<unk>", "<s>", "</s>"] + WORDS)}
backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>")

MAX_LEN = 24


class CaptionDataset(Dataset):
    def __init__(self, count):
        self.captions = [" ".join(random.choices(WORDS, k=random.randint(5, 18))) for _ in range(count)]
        self.features = torch.randn(count, 10, 64)

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, i):
        enc = tokenizer("<s> " + self.captions[i] + " </s>", padding="max_length", max_length=MAX_LEN,
                        truncation=True, return_tensors="pt")
        return self.features[i], enc["input_ids"][0], enc["attention_mask"][0]


class CaptionModel(nn.Module):
    def __init__(self, vocab_size, d_model=64, nhead=4, num_layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, d_model, padding_idx=tokenizer.pad_token_id)
        self.pos = nn.Embedding(MAX_LEN, d_model)
        layer = nn.TransformerDecoderLayer(d_model, nhead, dim_feedforward=128, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, num_layers)
        self.lm_head = nn.Linear(d_model, vocab_size)

    def forward(self, memory, input_ids, attention_mask):
        length = input_ids.size(1)
        x = self.tok(input_ids) + self.pos(torch.arange(length, device=input_ids.device))
        causal = torch.triu(torch.ones(length, length, dtype=torch.bool, device=input_ids.device), diagonal=1)
        x = self.decoder(x, memory, tgt_mask=causal, tgt_key_padding_mask=attention_mask == 0)
        return self.lm_head(x)


device = "cuda" if torch.cuda.is_available() else "cpu"
model = CaptionModel(len(tokenizer)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(ignore_index=tokenizer.pad_token_id)
loader = DataLoader(CaptionDataset(32), batch_size=4, shuffle=True)

model.train()
for epoch in range(2):
    total = 0.0
    for features, input_ids, attention_mask in loader:
        features = features.to(device)
        input_ids = input_ids.to(device)
        attention_mask = attention_mask.to(device)
        logits = model(features, input_ids[:, :-1], attention_mask[:, :-1])
        loss = criterion(logits.reshape(-1, logits.size(-1)), input_ids[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.4f}")
