import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, SOS, EOS = 0, 1, 2
VOCAB, HIDDEN, BATCH = 30, 48, 32
random.seed(0)
torch.manual_seed(0)


def sample_dialogue():
    question = [random.randint(3, VOCAB - 1) for _ in range(random.randint(2, 9))]
    answer = [w for w in question if w % 2] or [question[0]]
    return question + [EOS], answer + [EOS]


def zero_pad(sequences):
    longest = max(len(s) for s in sequences)
    out = torch.full((longest, len(sequences)), PAD)
    for j, s in enumerate(sequences):
        out[:len(s), j] = torch.tensor(s)
    return out


def make_batch(pairs):
    pairs = sorted(pairs, key=lambda p: len(p[0]), reverse=True)
    inputs, outputs = zip(*pairs)
    target = zero_pad(outputs)
    return zero_pad(inputs), torch.tensor([len(s) for s in inputs]), target, target != PAD


class Encoder(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.gru = nn.GRU(HIDDEN, HIDDEN, bidirectional=True)

    def forward(self, seq, lengths):
        packed = pack_padded_sequence(self.embedding(seq), lengths)
        outputs, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs)
        return outputs[:, :, :HIDDEN] + outputs[:, :, HIDDEN:], hidden[:1]


class AttnDecoder(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.gru = nn.GRU(HIDDEN, HIDDEN)
        self.concat = nn.Linear(HIDDEN * 2, HIDDEN)
        self.out = nn.Linear(HIDDEN, VOCAB)

    def forward(self, step, hidden, memory):
        output, hidden = self.gru(self.embedding(step), hidden)
        weights = (output * memory).sum(dim=2).t().softmax(dim=1).unsqueeze(1)
        context = weights.bmm(memory.transpose(0, 1)).squeeze(1)
        joined = torch.tanh(self.concat(torch.cat((output.squeeze(0), context), 1)))
        return self.out(joined).softmax(dim=1), hidden


def masked_nll(probs, target, mask):
    n_total = mask.sum()
    nll = -torch.log(torch.gather(probs, 1, target.view(-1, 1)))
    loss = nll.masked_select(mask).mean()
    return loss, n_total.item()


def train_step(batch, encoder, decoder, optimizer, teacher_forcing=0.9):
    inputs, lengths, target, mask = batch
    optimizer.zero_grad()
    memory, hidden = encoder(inputs, lengths)
    step = torch.full((1, inputs.size(1)), SOS)
    loss, printed, n_words = 0, 0.0, 0
    use_teacher = random.random() < teacher_forcing
    for t in range(target.size(0)):
        probs, hidden = decoder(step, hidden, memory)
        step = target[t].view(1, -1) if use_teacher else probs.argmax(1).view(1, -1)
        step_loss, n = masked_nll(probs, target[t], mask[t])
        loss = loss + step_loss
        printed += step_loss.item() * n
        n_words += n
    loss.backward()
    nn.utils.clip_grad_norm_(encoder.parameters(), 50.0)
    nn.utils.clip_grad_norm_(decoder.parameters(), 50.0)
    optimizer.step()
    return printed / n_words


def main(n_iterations=300, print_every=50):
    pairs = [sample_dialogue() for _ in range(2000)]
    embedding = nn.Embedding(VOCAB, HIDDEN)
    encoder, decoder = Encoder(embedding), AttnDecoder(embedding)
    params = {id(p): p for p in [*encoder.parameters(), *decoder.parameters()]}.values()
    optimizer = torch.optim.Adam(params, lr=2e-3)
    running = 0.0
    for iteration in range(1, n_iterations + 1):
        batch = make_batch([random.choice(pairs) for _ in range(BATCH)])
        running += train_step(batch, encoder, decoder, optimizer)
        if iteration % print_every == 0:
            print("iteration %d  (%.0f%%)  average loss %.4f"
                  % (iteration, 100 * iteration / n_iterations, running / print_every))
            running = 0.0


if __name__ == "__main__":
    main()
