import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)

# vocabulary of hot cells made by the preprocessing: V[i] are the k nearest cells of cell i
preprocess_vocab_size = 18866
k = 10
V = torch.randint(4, preprocess_vocab_size, (preprocess_vocab_size, k))
V[:, 0] = torch.arange(preprocess_vocab_size)
D = F.softmax(-torch.rand(preprocess_vocab_size, k) * 5, dim=1)


class args:
    vocab_size = 18866
    embedding_size = 32
    hidden_size = 32
    batch = 64
    generator_batch = 32
    max_len = 30


class EncoderDecoder(nn.Module):
    def __init__(self, vocab_size, embedding_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size + 2, embedding_size, padding_idx=0)
        self.encoder = nn.GRU(embedding_size, hidden_size)
        self.decoder = nn.GRU(embedding_size, hidden_size)

    def forward(self, src, trg):
        _, h = self.encoder(self.embedding(src))
        output, _ = self.decoder(self.embedding(trg), h)
        return output


def KLDIVloss(output, target, criterion):
    """output (batch, vocab_size) log-probabilities, target (batch,) cells"""
    indices = torch.index_select(V, 0, target)
    outputk = torch.gather(output, 1, indices)
    targetk = torch.index_select(D, 0, target)
    return criterion(outputk, targetk)


def batchloss(output, target, generator, lossF):
    batch = output.size(1)
    loss = 0
    for o, t in zip(output.split(args.generator_batch), target.split(args.generator_batch)):
        o = generator(o.reshape(-1, o.size(2)))
        loss += lossF(o, t.reshape(-1))
    return loss.div(batch)


m0 = EncoderDecoder(args.vocab_size, args.embedding_size, args.hidden_size)
m1 = nn.Sequential(nn.Linear(args.hidden_size, args.vocab_size), nn.LogSoftmax(dim=1))
criterion = nn.KLDivLoss(reduction='sum')
lossF = lambda o, t: KLDIVloss(o, t, criterion)
opt = torch.optim.Adam([*m0.parameters(), *m1.parameters()], lr=1e-3)

for iteration in range(3):
    trajectories = torch.randint(4, preprocess_vocab_size, (args.max_len, args.batch))
    src, trg = trajectories[::2], trajectories
    output = m0(src, trg[:-1])
    loss = batchloss(output, trg[1:], m1, lossF)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(m0.parameters(), 5)
    opt.step()
    print('Iteration: {0:}\tLoss: {1:.3f}'.format(iteration, loss.item()))
