# line 18: the labels are already moved by one in the data set, and GPT2LMHeadModel moves them again
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)


class TokenBlocks(Dataset):
    def __init__(self, stream, block):
        self.stream, self.block = stream, block

    def __len__(self):
        return (len(self.stream) - 1) // self.block

    def __getitem__(self, i):
        piece = self.stream[i * self.block : (i + 1) * self.block + 1]
        return {"input_ids": piece[:-1], "labels": piece[1:]}


class Runner:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)

    def epoch(self, loader):
        self.model.train()
        total, n = 0.0, 0
        for batch in loader:
            out = self.model(**batch)
            self.opt.zero_grad()
            out.loss.backward()
            self.opt.step()
            total += out.loss.item() * len(batch["input_ids"])
            n += len(batch["input_ids"])
        return total / n


stream = (torch.arange(801) * 3 + torch.arange(801) // 7) % 29
config = GPT2Config(vocab_size=29, n_positions=20, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
runner = Runner(GPT2LMHeadModel(config))
loader = DataLoader(TokenBlocks(stream, 20), batch_size=10, shuffle=True)
for epoch in range(3):
    print(epoch, runner.epoch(loader))
