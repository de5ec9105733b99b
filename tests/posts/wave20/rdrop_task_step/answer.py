import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

PAD = 0


class SummaryClassifier(nn.Module):
    def __init__(self, vocab, n_topics, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=96, dropout=0.2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, n_topics)

    def forward(self, tokens):
        mask = tokens.eq(PAD)
        h = self.encoder(self.embed(tokens), src_key_padding_mask=mask)
        keep = (~mask).unsqueeze(-1).float()
        return self.out((h * keep).sum(1) / keep.sum(1))


class ConsistencyCriterion:
    """Cross entropy on two dropout passes and a symmetric KL term between them."""

    def __init__(self, reg_alpha=1.0, smoothing=0.1):
        self.reg_alpha = reg_alpha
        self.smoothing = smoothing

    def kl(self, a, b):
        log_a, log_b = F.log_softmax(a, -1), F.log_softmax(b, -1)
        forward = F.kl_div(log_a, log_b, log_target=True, reduction="batchmean")
        backward = F.kl_div(log_b, log_a, log_target=True, reduction="batchmean")
        return 0.5 * (forward + backward)

    def forward_reg(self, model, sample, optimizer):
        tokens, target = sample
        logits = model(torch.cat([tokens, tokens], dim=0))
        first, second = logits.chunk(2, dim=0)
        nll = F.cross_entropy(logits, torch.cat([target, target]), label_smoothing=self.smoothing)
        loss = nll + self.reg_alpha * self.kl(first, second)
        optimizer.zero_grad()
        loss.backward()
        stats = {"loss": loss.item(), "nll": nll.item()}
        return loss, stats


class TopicTask:
    def __init__(self, vocab=300, n_topics=5):
        self.vocab = vocab
        self.n_topics = n_topics

    def load_dataset(self, n, max_len=24):
        gen = torch.Generator().manual_seed(n)
        target = torch.randint(0, self.n_topics, (n,), generator=gen)
        block = (self.vocab - 1) // self.n_topics
        tokens = torch.randint(1, block, (n, max_len), generator=gen) + (target * block).unsqueeze(1)
        lengths = torch.randint(8, max_len, (n,), generator=gen)
        tokens[torch.arange(max_len)[None, :] >= lengths[:, None]] = PAD
        return TensorDataset(tokens, target)

    def train_step(self, sample, model, criterion, optimizer, ignore_grad=False):
        model.train()
        loss, stats = criterion.forward_reg(model, sample, optimizer)
        return loss.detach(), stats

    def valid_step(self, sample, model):
        model.eval()
        tokens, target = sample
        with torch.no_grad():
            return (model(tokens).argmax(-1) == target).float().mean().item()


def main():
    torch.manual_seed(1)
    task = TopicTask()
    train_loader = DataLoader(task.load_dataset(256), batch_size=32, shuffle=True)
    valid_loader = DataLoader(task.load_dataset(64), batch_size=64)
    model = SummaryClassifier(task.vocab, task.n_topics)
    criterion = ConsistencyCriterion(reg_alpha=0.7)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(3):
        running = 0.0
        for sample in train_loader:
            _, stats = task.train_step(sample, model, criterion, optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += stats["loss"]
        acc = sum(task.valid_step(s, model) for s in valid_loader) / len(valid_loader)
        print(f"epoch {epoch} loss {running / len(train_loader):.3f} valid acc {acc:.3f}")


if __name__ == "__main__":
    main()
