import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Config:
    hidden_dim = 64
    vocab_size = 600
    pad_token_id = 0
    max_position_embeddings = 20
    nheads = 4
    dec_layers = 2
    batch_size = 8
    epochs = 2
    lr = 1e-3
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class WordTokenizer:
    """Word level tokenizer built from the captions themselves."""

    def __init__(self, captions):
        words = sorted({word for caption in captions for word in caption.split()})
        self.vocab = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2}
        for word in words:
            self.vocab[word] = len(self.vocab)

    def __len__(self):
        return len(self.vocab)

    def encode(self, caption, max_length):
        ids = [1] + [self.vocab[w] for w in caption.split()][: max_length - 2] + [2]
        return torch.tensor(ids + [0] * (max_length - len(ids)))


class CaptionDataset(Dataset):
    def __init__(self, captions, tokenizer, max_length):
        self.images = torch.randn(len(captions), 3, 32, 32)
        self.ids = [tokenizer.encode(c, max_length + 1) for c in captions]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return self.images[index], self.ids[index]


class Captioner(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.hidden_dim
        self.backbone = nn.Sequential(nn.Conv2d(3, d, 8, stride=8), nn.ReLU())
        self.word_embeddings = nn.Embedding(config.vocab_size, d, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, d)
        layer = nn.TransformerDecoderLayer(d, config.nheads, 128, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, config.dec_layers)
        self.head = nn.Linear(d, config.vocab_size)

    def forward(self, images, tokens):
        memory = self.backbone(images).flatten(2).transpose(1, 2)
        positions = torch.arange(tokens.size(1), device=tokens.device)
        target = self.word_embeddings(tokens) + self.position_embeddings(positions)
        mask = torch.triu(torch.ones(len(positions), len(positions), device=tokens.device), 1).bool()
        return self.head(self.decoder(target, memory, tgt_mask=mask))


def fake_captions(n):
    generator = torch.Generator().manual_seed(5)
    draws = torch.randint(0, 900, (n, 9), generator=generator)
    return [" ".join(f"w{i}" for i in row.tolist()) for row in draws]


def main(config):
    torch.manual_seed(0)
    captions = fake_captions(240)
    tokenizer = WordTokenizer(captions)
    dataset = CaptionDataset(captions, tokenizer, config.max_position_embeddings)
    loader = DataLoader(dataset, batch_size=config.batch_size, shuffle=True)

    model = Captioner(config).to(config.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    for epoch in range(config.epochs):
        for images, ids in loader:
            images, ids = images.to(config.device), ids.to(config.device)
            logits = model(images, ids[:, :-1])
            loss = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], ignore_index=config.pad_token_id)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main(Config())
