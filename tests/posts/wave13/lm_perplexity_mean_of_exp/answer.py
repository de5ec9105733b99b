import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS = 60
torch.manual_seed(3)


def bigram_table(sharpness):
    return torch.softmax(sharpness * torch.randn(WORDS, WORDS), dim=1)


def sample_sentences(table, n, length=20):
    seq = [torch.randint(0, WORDS, (n,))]
    while len(seq) < length:
        seq.append(torch.multinomial(table[seq[-1]], 1).squeeze(1))
    return torch.stack(seq, dim=1)


class TinyTransformerLM(nn.Module):
    def __init__(self, dim=48, heads=4, layers=1, max_len=40):
        super().__init__()
        self.tok = nn.Embedding(WORDS, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(dim, WORDS)

    def forward(self, ids):
        steps = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(steps)
        h = self.tok(ids) + self.pos(torch.arange(steps))
        return self.head(self.blocks(h, mask=mask, is_causal=True))


class Trainer:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.logged = {}

    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value))

    def epoch_end(self, phase):
        metrics = {k: sum(v) / len(v) for k, v in self.logged.items()}
        metrics[f'{phase}_perplexity'] = torch.tensor(metrics[f'{phase}_loss']).exp().item()
        self.logged = {}
        text = ' '.join(f'{k}={v:.3f}' for k, v in metrics.items())
        print(f'[{phase}] {text}')

    def step(self, ids, phase):
        logits = self.model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, WORDS), ids[:, 1:].reshape(-1))
        self.log(f'{phase}_loss', loss)
        return loss

    def train_epoch(self, sentences):
        self.model.train()
        for ids in sentences.split(32):
            loss = self.step(ids, 'train')
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.epoch_end('train')

    @torch.no_grad()
    def validate(self, sentences):
        self.model.eval()
        for ids in sentences.split(4):
            self.step(ids, 'valid')
        self.epoch_end('valid')


def main():
    table = bigram_table(2.5)
    train = sample_sentences(table, 640)
    news = sample_sentences(table, 40)
    forum = sample_sentences(bigram_table(2.5), 12)
    trainer = Trainer(TinyTransformerLM())
    for _ in range(8):
        trainer.train_epoch(train)
        trainer.validate(torch.cat([news, forum]))


if __name__ == '__main__':
    main()
