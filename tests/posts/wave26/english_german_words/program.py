import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD, START, END = 0, 1, 2
SPECIAL = 3
ENGLISH_WORDS, GERMAN_WORDS = 40, 40

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class TranslationDataset(Dataset):
    """English word ids and the German sentence, word by word, between a start and an end token."""

    def __init__(self, count, length=6, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.english = torch.randint(SPECIAL, SPECIAL + ENGLISH_WORDS, (count, length), generator=generator)
        table = torch.randperm(GERMAN_WORDS, generator=torch.Generator().manual_seed(99)) + SPECIAL
        german = table[self.english - SPECIAL]
        start = torch.full((count, 1), START)
        end = torch.full((count, 1), END)
        self.german = torch.cat([start, german, end], dim=1)

    def __len__(self):
        return len(self.english)

    def __getitem__(self, index):
        return {"english": self.english[index], "german": self.german[index]}


class SimpleTransformer(nn.Module):
    def __init__(self, dim=64, heads=4, max_len=16):
        super().__init__()
        self.english_embedding = nn.Embedding(SPECIAL + ENGLISH_WORDS, dim, padding_idx=PAD)
        self.german_embedding = nn.Embedding(SPECIAL + GERMAN_WORDS, dim, padding_idx=PAD)
        self.positions = nn.Parameter(torch.randn(max_len, dim) * 0.5)
        self.transformer = nn.Transformer(dim, heads, 1, 1, dim * 2, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, SPECIAL + GERMAN_WORDS)

    def encode(self, english):
        x = self.english_embedding(english) + self.positions[: english.size(1)]
        return self.transformer.encoder(x)

    def decode(self, german, memory):
        length = german.size(1)
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool, device=german.device), diagonal=1)
        y = self.german_embedding(german) + self.positions[:length]
        return self.out(self.transformer.decoder(y, memory, tgt_mask=mask))


def run(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, correct, words = 0.0, 0, 0
    for item in loader:
        german = item["german"].to(device)
        memory = model.encode(item["english"][:, 1:-1].to(device))
        logits = model.decode(german[:, :-1], memory)
        target = german[:, 1:]
        loss = criterion(logits.flatten(0, 1), target.flatten())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * target.numel()
        correct += (logits.argmax(-1) == target).sum().item()
        words += target.numel()
    return total / words, correct / words


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TranslationDataset(2000, seed=1), batch_size=64, shuffle=True)
    test_loader = DataLoader(TranslationDataset(256, seed=2), batch_size=64)
    model = SimpleTransformer().to(device)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(10):
        loss, accuracy = run(model, train_loader, criterion, optimizer)
        with torch.no_grad():
            test_loss, test_accuracy = run(model, test_loader, criterion)
        print(f"epoch {epoch + 1}: train {loss:.3f} {accuracy:.3f} test {test_loss:.3f} {test_accuracy:.3f}")


if __name__ == "__main__":
    main()
