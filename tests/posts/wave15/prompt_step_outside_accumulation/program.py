import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

gradient_accumulation_steps = 4
max_steps = 60
pbar_update_freq = 10


class FrozenPLM(nn.Module):
    """a small encoder that stands for the language model and is not tuned"""

    def __init__(self, vocab=50, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, inputs_embeds):
        return self.encoder(inputs_embeds)


class PromptModel(nn.Module):
    def __init__(self, plm, n_classes, num_tokens=5, dim=32):
        super().__init__()
        self.plm = plm
        self.soft_embedding = nn.Parameter(0.5 * torch.randn(num_tokens, dim))
        self.verbalizer = nn.Linear(dim, n_classes)

    def forward(self, ids):
        words = self.plm.embed(ids)
        soft = self.soft_embedding.expand(len(ids), -1, -1)
        hidden = self.plm(torch.cat([soft, words], dim=1))
        return self.verbalizer(hidden[:, 0] + hidden[:, 1:].mean(dim=1))


def reviews(n=640, length=12):
    """the label is the more frequent one of two groups of words"""
    gen = torch.Generator().manual_seed(31)
    y = torch.randint(0, 2, (n,), generator=gen)
    ids = torch.randint(20, 50, (n, length), generator=gen)
    for i in range(n):
        where = torch.randperm(length, generator=gen)[:5]
        ids[i, where] = torch.randint(0, 10, (5,), generator=gen) + 10 * y[i]
    return TensorDataset(ids, y)


def warmup(step):
    return min(1.0, (step + 1) / 5) * max(0.1, 1.0 - step / max_steps)


def main():
    torch.manual_seed(0)
    loader = DataLoader(reviews(), batch_size=8, shuffle=True)
    model = PromptModel(FrozenPLM(), n_classes=2)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    scheduler = LambdaLR(optimizer, warmup)

    tot_loss, log_loss, actual_step, glb_step = 0.0, 0.0, 0, 0
    while glb_step < max_steps:
        for ids, labels in loader:
            loss = F.cross_entropy(model(ids), labels) / gradient_accumulation_steps
            loss.backward()
            tot_loss += loss.item()
            actual_step += 1

            if actual_step % gradient_accumulation_steps == 0:
                torch.nn.utils.clip_grad_norm_([model.soft_embedding, *model.verbalizer.parameters()], 1.0)
                glb_step += 1
                if glb_step % pbar_update_freq == 0:
                    print("step %d train loss %.4f lr %.5f" % (
                        glb_step, (tot_loss - log_loss) / pbar_update_freq, scheduler.get_last_lr()[0]))
                    log_loss = tot_loss

            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            if glb_step >= max_steps:
                break


if __name__ == "__main__":
    main()
