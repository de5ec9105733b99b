import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
WIDTH = 32
VOCAB = 64


class RgLru(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.recurrent_param = nn.Parameter(torch.empty(width).uniform_(-9.0, -4.3))
        self.input_gate = nn.Linear(width, width)
        self.recurrent_gate = nn.Linear(width, width)
        self.recurrent_states = None

    def forward(self, activations, position_ids):
        reset = (position_ids == 0)[:, :, None]
        input_gate = torch.sigmoid(self.input_gate(activations))
        recurrent_gate = torch.sigmoid(self.recurrent_gate(activations))
        log_a = -8.0 * recurrent_gate * F.softplus(self.recurrent_param)
        a = torch.exp(log_a)
        multiplier = torch.sqrt(1 - torch.exp(2 * log_a) + 1e-6)
        x = activations * input_gate * torch.where(reset, torch.ones_like(multiplier), multiplier)
        a = a * ~reset
        state = self.recurrent_states
        if state is None:
            state = x.new_zeros(x.shape[0], x.shape[2])
        outputs = []
        for t in range(x.shape[1]):
            state = a[:, t] * state + x[:, t]
            outputs.append(state)
        self.recurrent_states = state
        return torch.stack(outputs, dim=1)


class RecurrentBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear_x = nn.Linear(width, width)
        self.linear_y = nn.Linear(width, width)
        self.linear_out = nn.Linear(width, width)
        self.conv_1d = nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.rg_lru = RgLru(width)
        self.conv1d_state = None

    def forward(self, hidden, position_ids, use_cache=True):
        _, seq_len, _ = hidden.shape
        normed = self.norm(hidden)
        y = F.gelu(self.linear_y(normed))
        x = self.linear_x(normed).transpose(1, 2)
        if use_cache:
            if position_ids.shape[1] != 1:
                self.conv1d_state = F.pad(x, (4 - seq_len, 0))
                x = self.conv_1d(x)[..., :seq_len]
            else:
                state = torch.cat((self.conv1d_state, x), -1)
                x = (torch.sum(state * self.conv_1d.weight[:, 0, :], dim=-1) + self.conv_1d.bias).unsqueeze(-1)
                self.conv1d_state = state[:, :, 1:]
        else:
            x = self.conv_1d(x)[..., :seq_len]
            self.conv1d_state = None
            self.rg_lru.recurrent_states = None
        x = self.rg_lru(x.transpose(1, 2), position_ids)
        return hidden + self.linear_out(x * y)


class RecurrentLM(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList([RecurrentBlock(WIDTH) for _ in range(layers)])
        self.lm_head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, input_ids, labels=None, use_cache=True):
        position_ids = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        hidden = self.embed(input_ids)
        for block in self.blocks:
            hidden = block(hidden, position_ids, use_cache)
        logits = self.lm_head(hidden)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return loss, logits


model = RecurrentLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.train()
for step in range(5):
    input_ids = torch.randint(0, VOCAB, (8, 12))
    loss, _ = model(input_ids, labels=input_ids, use_cache=False)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('step', step, 'loss', loss.item())
