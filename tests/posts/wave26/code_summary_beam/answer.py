import torch
import torch.nn as nn

PAD, BOS, EOS = 0, 1, 2
VOCAB = 30


class Beam:
    def __init__(self, size, max_len):
        self.size = size
        self.max_len = max_len
        self.scores = torch.zeros(size)
        self.prev_ks = []
        self.next_ys = [torch.full((size,), PAD)]
        self.next_ys[0][0] = BOS
        self.attn = []
        self.done = False

    def get_current_state(self):
        return self.next_ys[-1]

    def get_current_origin(self):
        return self.prev_ks[-1]

    def advance(self, word_probs, attn_out):
        num_words = word_probs.size(1)
        if self.prev_ks:
            beam_scores = word_probs + self.scores.unsqueeze(1)
            beam_scores[self.next_ys[-1] == EOS] = -1e20
        else:
            beam_scores = word_probs[0]
        best_scores, best_scores_id = beam_scores.reshape(-1).topk(self.size, 0, True, True)
        self.scores = best_scores

        prev_k = best_scores_id // num_words
        self.prev_ks.append(prev_k)
        self.next_ys.append(best_scores_id - prev_k * num_words)
        self.attn.append(attn_out.index_select(0, prev_k))
        if self.next_ys[-1][0] == EOS or len(self.next_ys) > self.max_len:
            self.done = True

    def get_hypothesis(self, k=0):
        words = []
        for j in range(len(self.prev_ks) - 1, -1, -1):
            words.append(self.next_ys[j + 1][k].item())
            k = self.prev_ks[j][k]
        return words[::-1]


class SummaryModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.cell = nn.GRUCell(dim * 2, dim)
        self.out = nn.Linear(dim, VOCAB)

    def encode(self, code):
        memory, hidden = self.encoder(self.embed(code))
        return memory, hidden[0]

    def step(self, word, hidden, memory):
        attn = torch.softmax(torch.einsum("bd,bsd->bs", hidden, memory), dim=1)
        context = torch.einsum("bs,bsd->bd", attn, memory)
        hidden = self.cell(torch.cat([self.embed(word), context], dim=1), hidden)
        return self.out(hidden), hidden, attn


def make_batch(count):
    code = torch.randint(3, VOCAB, (count, 5))
    return code, torch.cat([torch.full((count, 1), BOS), code[:, :2], torch.full((count, 1), EOS)], dim=1)


def train(model, steps=250):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        code, summary = make_batch(64)
        memory, hidden = model.encode(code)
        loss = 0.0
        for t in range(summary.size(1) - 1):
            logits, hidden, _ = model.step(summary[:, t], hidden, memory)
            loss = loss + nn.functional.cross_entropy(logits, summary[:, t + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item() / 3


@torch.no_grad()
def translate(model, code, beam_size=4, max_len=6):
    memory, hidden = model.encode(code.expand(beam_size, -1))
    beam = Beam(beam_size, max_len)
    while not beam.done:
        logits, hidden, attn = model.step(beam.get_current_state(), hidden, memory)
        beam.advance(logits.log_softmax(-1), attn)
        hidden = hidden.index_select(0, beam.get_current_origin())
    return beam.get_hypothesis()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = SummaryModel()
    print(f"training loss per word {train(model):.3f}")
    code, summary = make_batch(3)
    for i in range(3):
        print("code", code[i].tolist(), "summary", translate(model, code[i : i + 1]), "expected", summary[i, 1:].tolist())
