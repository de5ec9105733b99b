import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

config = {
    "vocab": 96,
    "seq_len": 20,
    "temperature": 2.0,
    "alpha": 0.5,
    "batch_size": 4,
    "gradient_accumulation_steps": 8,
    "learning_rate": 0.05,
    "max_grad_norm": 1e9,
    "epochs": 2,
}


class CausalLM(nn.Module):
    def __init__(self, vocab, dim, layers):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, num_layers=layers, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids):
        hidden, _ = self.rnn(self.tok(input_ids))
        return self.lm_head(hidden)


class LogitsTrainer:
    def __init__(self, student, teacher, dataset, cfg):
        self.student, self.teacher, self.cfg = student, teacher.eval(), cfg
        self.loader = DataLoader(dataset, batch_size=cfg["batch_size"], shuffle=True)
        self.optimizer = torch.optim.SGD(student.parameters(), lr=cfg["learning_rate"])
        self.global_step = 0

    def distillation_loss(self, student_logits, teacher_logits, original_loss):
        t = self.cfg["temperature"]
        kd = F.kl_div(
            F.log_softmax(student_logits / t, dim=-1),
            F.softmax(teacher_logits / t, dim=-1),
            reduction="batchmean",
        ) * t ** 2 / self.cfg["seq_len"]
        return self.cfg["alpha"] * kd + (1 - self.cfg["alpha"]) * original_loss

    def compute_loss(self, input_ids):
        student_logits = self.student(input_ids[:, :-1])
        with torch.no_grad():
            teacher_logits = self.teacher(input_ids[:, :-1])
        labels = input_ids[:, 1:]
        ce = F.cross_entropy(student_logits.reshape(-1, student_logits.size(-1)), labels.reshape(-1))
        return self.distillation_loss(student_logits, teacher_logits, ce)

    def training_step(self, input_ids):
        self.student.train()
        loss = self.compute_loss(input_ids) / self.cfg["gradient_accumulation_steps"]
        loss.backward()
        return loss.detach()

    def train(self):
        accum = self.cfg["gradient_accumulation_steps"]
        for epoch in range(self.cfg["epochs"]):
            step_loss = torch.tensor(0.0)
            for i, (input_ids,) in enumerate(self.loader):
                step_loss += self.training_step(input_ids)
                if (i + 1) % accum == 0:
                    grad_norm = nn.utils.clip_grad_norm_(self.student.parameters(), self.cfg["max_grad_norm"])
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                    self.global_step += 1
                    print({"step": self.global_step, "loss": round(step_loss.item(), 4),
                           "grad_norm": round(grad_norm.item(), 4)})
                    step_loss.zero_()


def main():
    torch.manual_seed(1)
    teacher = CausalLM(config["vocab"], 64, 2)
    student = CausalLM(config["vocab"], 24, 1)
    ids = torch.randint(0, config["vocab"], (96, config["seq_len"]))
    LogitsTrainer(student, teacher, TensorDataset(ids), config).train()


if __name__ == "__main__":
    main()
