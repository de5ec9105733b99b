import torch
import torch.nn as nn
from torch.utils.data import DataLoader

config = {
    "num_entities": 120,
    "num_relations": 6,
    "dim": 32,
    "train.batch_size": 64,
    "train.subbatch_size": 16,
    "train.max_epochs": 12,
    "train.lr": 1.0,
}


def make_triples(n_ent, n_rel, n=600, seed=5):
    g = torch.Generator().manual_seed(seed)
    s = torch.randint(0, n_ent, (n,), generator=g)
    p = torch.randint(0, n_rel, (n,), generator=g)
    o = (s * 7 + p * 13) % n_ent
    return torch.stack([s, p, o], dim=1)


class ComplEx(nn.Module):
    def __init__(self, n_ent, n_rel, dim):
        super().__init__()
        self.entities = nn.Embedding(n_ent, dim)
        self.relations = nn.Embedding(n_rel, dim)
        nn.init.normal_(self.entities.weight, std=0.1)
        nn.init.normal_(self.relations.weight, std=0.1)

    def _mix(self, a, p, inverse=False):
        a_re, a_im = a.chunk(2, dim=1)
        p_re, p_im = p.chunk(2, dim=1)
        if inverse:
            p_im = -p_im
        return torch.cat([a_re * p_re - a_im * p_im, a_re * p_im + a_im * p_re], dim=1)

    def score_sp(self, s, p):
        return self._mix(self.entities(s), self.relations(p)) @ self.entities.weight.t()

    def score_po(self, p, o):
        return self._mix(self.entities(o), self.relations(p), inverse=True) @ self.entities.weight.t()


class TrainingJob:
    def __init__(self, config, model, triples):
        self.config = config
        self.model = model
        self.loss = nn.CrossEntropyLoss(reduction="sum")
        self.optimizer = torch.optim.SGD(model.parameters(), lr=config["train.lr"])
        self.loader = DataLoader(triples, batch_size=config["train.batch_size"], shuffle=True)

    def _process_subbatch(self, batch, subbatch_slice):
        raise NotImplementedError

    def _process_batch(self, batch):
        size = self.config["train.subbatch_size"]
        total = 0.0
        for start in range(0, len(batch), size):
            total += self._process_subbatch(batch, slice(start, start + size))
        return total

    def run_epoch(self):
        self.model.train()
        sum_loss, seen = 0.0, 0
        for batch in self.loader:
            self.optimizer.zero_grad()
            batch_loss = self._process_batch(batch)
            self.optimizer.step()
            sum_loss += batch_loss * len(batch)
            seen += len(batch)
        return sum_loss / seen


class TrainingJob1vsAll(TrainingJob):
    def _process_subbatch(self, batch, subbatch_slice):
        triples = batch[subbatch_slice]
        batch_size = len(batch)

        scores_sp = self.model.score_sp(triples[:, 0], triples[:, 1])
        loss_sp = self.loss(scores_sp, triples[:, 2]) / batch_size
        loss_sp.backward()

        scores_po = self.model.score_po(triples[:, 1], triples[:, 2])
        loss_po = self.loss(scores_po, triples[:, 0]) / batch_size
        loss_po.backward()
        return loss_sp.item() + loss_po.item()


@torch.no_grad()
def mean_reciprocal_rank(model, triples):
    model.eval()
    scores = model.score_sp(triples[:, 0], triples[:, 1])
    true = scores.gather(1, triples[:, 2:])
    rank = (scores > true).sum(dim=1) + 1
    return (1.0 / rank.float()).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    triples = make_triples(config["num_entities"], config["num_relations"])
    train, valid = triples[:550], triples[550:]
    model = ComplEx(config["num_entities"], config["num_relations"], config["dim"])
    job = TrainingJob1vsAll(config, model, train)
    for epoch in range(1, config["train.max_epochs"] + 1):
        avg_loss = job.run_epoch()
        print(f"epoch {epoch}: avg_loss {avg_loss:.4f} valid mrr {mean_reciprocal_rank(model, valid):.3f}")
