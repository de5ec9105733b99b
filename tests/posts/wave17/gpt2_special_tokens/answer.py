import argparse
import random

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

SUBJECTS = ['the wizard', 'a small dragon', 'the old king', 'my sister', 'the robot']
VERBS = ['found', 'lost', 'painted', 'sold', 'dreamed of']
OBJECTS = ['a golden ring', 'the blue door', 'an empty castle', 'seven apples', 'a letter']


def make_stories(n, seed=0):
    rng = random.Random(seed)
    stories = []
    for _ in range(n):
        parts = [f'{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)} .' for _ in range(rng.randint(1, 4))]
        stories.append(' '.join(parts))
    return stories


def build_tokenizer(stories):
    words = sorted({w for s in stories for w in s.split()})
    vocab = {w: i for i, w in enumerate(['<unk>'] + words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token='<unk>'))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token='<unk>')


class StoryDataset(Dataset):
    def __init__(self, stories, tokenizer, max_length):
        texts = [tokenizer.bos_token + ' ' + s + ' ' + tokenizer.eos_token for s in stories]
        enc = tokenizer(texts, padding='max_length', truncation=True, max_length=max_length, return_tensors='pt')
        self.input_ids = enc['input_ids']
        self.attention_mask = enc['attention_mask']
        self.labels = self.input_ids.masked_fill(self.attention_mask == 0, -100)

    def __len__(self):
        return len(self.input_ids)

    def __getitem__(self, i):
        return {'input_ids': self.input_ids[i], 'attention_mask': self.attention_mask[i], 'labels': self.labels[i]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch_size', type=int, default=16)
    parser.add_argument('--max_length', type=int, default=40)
    parser.add_argument('--learning_rate', type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(42)
    stories = make_stories(256)
    tokenizer = build_tokenizer(stories)
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=64, n_layer=2, n_head=4,
                        bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)

    tokenizer.add_special_tokens({
        'bos_token': '<|startoftext|>',
        'eos_token': '<|endoftext|>',
        'pad_token': '<|pad|>',
    })
    model.resize_token_embeddings(len(tokenizer))
    dataset = StoryDataset(stories, tokenizer, args.max_length)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)

    model.train()
    for epoch in range(args.epochs):
        total = 0.0
        for batch in loader:
            outputs = model(**batch)
            optimizer.zero_grad()
            outputs.loss.backward()
            optimizer.step()
            total += outputs.loss.item()
        print(f'epoch {epoch}: loss {total / len(loader):.3f}')


if __name__ == '__main__':
    main()
