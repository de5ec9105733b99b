import random
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from transformers import BertConfig, BertForSequenceClassification

random.seed(0)
torch.manual_seed(0)

POS = ['good', 'fast', 'friendly', 'recommend', 'clean']
NEG = ['bad', 'slow', 'rude', 'avoid', 'dirty']
FILL = ['the', 'service', 'was', 'very', 'and', 'room', 'food', 'we', 'it']
VOCAB = {w: i for i, w in enumerate(['[PAD]', '[CLS]', '[SEP]', '[UNK]'] + POS + NEG + FILL)}


class SimpleTokenizer:
    def __init__(self, vocab, max_length=16):
        self.vocab = vocab
        self.max_length = max_length

    def __call__(self, text):
        ids = [1] + [self.vocab.get(w, 3) for w in text.split()][:self.max_length - 2] + [2]
        mask = [1] * len(ids)
        pad = self.max_length - len(ids)
        return {'input_ids': torch.tensor(ids + [0] * pad), 'attention_mask': torch.tensor(mask + [0] * pad)}


class ReviewDataset(Dataset):
    def __init__(self, n, tokenizer):
        self.items = []
        for _ in range(n):
            y = random.randint(0, 1)
            words = random.choices(FILL, k=random.randint(5, 9)) + random.choices(POS if y else NEG, k=2)
            random.shuffle(words)
            self.items.append((' '.join(words), y))
        self.tokenizer = tokenizer

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        text, y = self.items[idx]
        enc = self.tokenizer(text)
        enc['labels'] = torch.tensor(y)
        return enc


def train_loop(model, loader, optimizer, criterion, device):
    model.train()
    total = 0.0
    for batch in loader:
        input_ids = batch['input_ids'].to(device)
        attention_mask = batch['attention_mask'].to(device)
        labels = batch['labels'].to(device)
        optimizer.zero_grad()
        outputs = model(input_ids=input_ids, attention_mask=attention_mask)
        loss = criterion(outputs.logits, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    tokenizer = SimpleTokenizer(VOCAB)
    config = BertConfig(vocab_size=len(VOCAB), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=64, max_position_embeddings=32, num_labels=2)
    model = BertForSequenceClassification(config).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train_dl = DataLoader(ReviewDataset(160, tokenizer), batch_size=16, shuffle=True)
    val_dl = DataLoader(ReviewDataset(48, tokenizer), batch_size=16)

    for epoch in range(2):
        loss = train_loop(model, train_dl, optimizer, criterion, device)
        model.eval()
        correct = 0
        with torch.no_grad():
            for b in val_dl:
                out = model(input_ids=b['input_ids'].to(device), attention_mask=b['attention_mask'].to(device))
                correct += (out.logits.argmax(-1).cpu() == b['labels']).sum().item()
        print('epoch', epoch, 'loss', round(loss, 4), 'acc', correct / 48)


if __name__ == '__main__':
    main()
