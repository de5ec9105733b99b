"""Mistakes for examples of training in a process group."""

from rehearsals.mistakes.mistake import Mistake

MISTAKES = {
    "minGPT-ddp": (
        Mistake(
            "data",
            "x = torch.tensor(dix[:-1], dtype=torch.long)",
            "x = torch.tensor(dix, dtype=torch.long)",
            (
                "model.py|Cannot forward sequence of length",
                "model.py|token_embeddings + position_embeddings",
                "model.py|loss = F.cross_entropy(",
            ),
            file="char_dataset.py",
        ),
        Mistake(
            "model",
            "self.head = nn.Linear(config.n_embd,",
            "self.head = nn.Linear(4 * config.n_embd,",
            ("logits = self.head(x)",),
            file="model.py",
        ),
        Mistake(
            "loss",
            "logits.view(-1, logits.size(-1)), targets.view(-1)",
            "logits, targets",
            file="model.py",
        ),
        Mistake(
            "update",
            "self.optimizer.zero_grad(set_to_none=True)",
            "pass",
            ("self.scaler.scale(loss).backward()", "self.scaler.step(self.optimizer)"),
            "gradients-not-cleared",
            file="trainer.py",
        ),
        Mistake(
            "devices",
            "targets = targets.to(self.local_rank)",
            "targets = targets.to(self.local_rank + 2)",
            file="trainer.py",
        ),
    ),
}
