import torch
import torch.nn as nn
import torch.nn.functional as F

EPS = 1e-6


def batch_cosine(a, b):
    """cosine similarity of the rows of a (b x m x w) and b (b x r x w), gives b x r x m"""
    a_norm = torch.norm(a, 2, 2, keepdim=True).expand_as(a) + EPS
    b_norm = torch.norm(b, 2, 2, keepdim=True).expand_as(b) + EPS
    dot = torch.bmm(a, b.transpose(1, 2)).transpose(1, 2)
    return dot / (torch.bmm(a_norm, b_norm.transpose(1, 2)).transpose(1, 2) + EPS)


class Memory(nn.Module):
    def __init__(self, input_size, mem_size=12, cell_size=16, read_heads=2):
        super().__init__()
        self.mem_size = mem_size
        self.cell_size = cell_size
        self.read_heads = read_heads
        self.read_keys = nn.Linear(input_size, read_heads * cell_size)
        self.read_strengths = nn.Linear(input_size, read_heads)
        self.write_key = nn.Linear(input_size, cell_size)
        self.write_strength = nn.Linear(input_size, 1)
        self.write_vector = nn.Linear(input_size, cell_size)
        self.erase_vector = nn.Linear(input_size, cell_size)
        self.write_gate = nn.Linear(input_size, 1)
        self.register_buffer('start', torch.randn(mem_size, cell_size) * 0.1)

    def reset(self, batch):
        return self.start.unsqueeze(0).expand(batch, -1, -1)

    def content_weights(self, memory, keys, strengths):
        d = batch_cosine(memory, keys)
        return F.softmax(d * strengths.unsqueeze(2), dim=2)

    def forward(self, xi, memory):
        b = xi.size(0)
        key = torch.tanh(self.write_key(xi)).view(b, 1, self.cell_size)
        beta = 1 + F.softplus(self.write_strength(xi))
        weights = self.content_weights(memory, key, beta) * torch.sigmoid(self.write_gate(xi)).unsqueeze(2)
        erase = torch.sigmoid(self.erase_vector(xi)).unsqueeze(1)
        vector = torch.tanh(self.write_vector(xi)).unsqueeze(1)
        weights = weights.transpose(1, 2)
        memory = memory * (1 - weights * erase) + weights * vector

        keys = torch.tanh(self.read_keys(xi)).view(b, self.read_heads, self.cell_size)
        betas = 1 + F.softplus(self.read_strengths(xi))
        read = torch.bmm(self.content_weights(memory, keys, betas), memory)
        return read.view(b, -1), memory


class MemoryNet(nn.Module):
    def __init__(self, input_size, hidden=48, cell_size=16, read_heads=2):
        super().__init__()
        self.hidden = hidden
        self.read_size = cell_size * read_heads
        self.controller = nn.LSTMCell(input_size + self.read_size, hidden)
        self.memory = Memory(hidden, cell_size=cell_size, read_heads=read_heads)
        self.output = nn.Linear(hidden + self.read_size, input_size)

    def forward(self, x):
        b = x.size(0)
        h = x.new_zeros(b, self.hidden)
        c = x.new_zeros(b, self.hidden)
        read = x.new_zeros(b, self.read_size)
        memory = self.memory.reset(b)
        outputs = []
        for t in range(x.size(1)):
            h, c = self.controller(torch.cat([x[:, t], read], dim=1), (h, c))
            read, memory = self.memory(h, memory)
            outputs.append(self.output(torch.cat([h, read], dim=1)))
        return torch.stack(outputs, dim=1)


def copy_task(batch, length, width):
    bits = torch.bernoulli(torch.full((batch, length, width), 0.5))
    x = torch.zeros(batch, 2 * length + 1, width + 1)
    x[:, :length, :width] = bits
    x[:, length, width] = 1
    target = torch.zeros(batch, 2 * length + 1, width + 1)
    target[:, length + 1:, :width] = bits
    return x, target


def main():
    torch.manual_seed(3)
    model = MemoryNet(input_size=7)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-9, betas=(0.9, 0.98))
    for step in range(100):
        x, target = copy_task(batch=32, length=4, width=6)
        output = model(x)
        loss = F.binary_cross_entropy_with_logits(output[:, 5:], target[:, 5:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        if step % 20 == 19:
            print('step', step + 1, 'loss %.4f' % loss.item())


if __name__ == '__main__':
    main()
