import torch
import torch.nn as nn
import torch.nn.functional as F

BOS, EOS = 0, 1


def make_captions(n, vocab=12, n_regions=3, seed=0):
    """the caption names the regions of the image one after the other"""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, vocab, (n, n_regions), generator=g)
    table = torch.randn(vocab, 8, generator=torch.Generator().manual_seed(9))
    regions = table[ids] + 0.1 * torch.randn(n, n_regions, 8, generator=g)
    captions = torch.cat([ids, torch.full((n, 1), EOS)], dim=1)
    return regions, captions


class CaptioningModel(nn.Module):
    def __init__(self, vocab_size, region_dim=8, hidden=48, n_regions=3):
        super().__init__()
        self.vocab_size = vocab_size
        self.embed = nn.Embedding(vocab_size, hidden)
        self.init_h = nn.Linear(n_regions * region_dim, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, vocab_size)

    def step(self, words, state):
        state = self.cell(self.embed(words), state)
        return F.log_softmax(self.out(state), dim=-1), state

    def forward(self, regions, captions):
        state = torch.tanh(self.init_h(regions.flatten(1)))
        words = torch.full((len(regions),), BOS)
        outputs = []
        for t in range(captions.size(1)):
            logprob, state = self.step(words, state)
            outputs.append(logprob)
            words = captions[:, t]
        return torch.stack(outputs, dim=1)

    def beam_search(self, regions, max_len, beam_size=5):
        b_s = len(regions)
        state = torch.tanh(self.init_h(regions.flatten(1))).repeat(beam_size, 1)
        words = torch.full((beam_size * b_s,), BOS)
        seq_logprob = torch.full((b_s, beam_size, 1), -1e4)
        seq_logprob[:, 0] = 0.0
        finished = torch.zeros(b_s, beam_size, 1, dtype=torch.bool)
        only_eos = torch.full((self.vocab_size,), -1e4)
        only_eos[EOS] = 0.0
        outputs = torch.empty(b_s, beam_size, 0, dtype=torch.long)
        rows = torch.arange(b_s).unsqueeze(1)

        for _ in range(max_len):
            word_logprob, state = self.step(words, state)
            word_logprob = word_logprob.view(beam_size, b_s, -1).transpose(0, 1)
            alive = (~finished).float()
            word_logprob = word_logprob * alive + only_eos * (1 - alive)
            candidate_logprob = word_logprob + seq_logprob

            selected_logprob, selected_idx = torch.sort(candidate_logprob.reshape(b_s, -1), -1, descending=True)
            selected_logprob, selected_idx = selected_logprob[:, :beam_size], selected_idx[:, :beam_size]
            selected_beam = selected_idx // self.vocab_size
            selected_words = selected_idx % self.vocab_size

            state = state.view(beam_size, b_s, -1)[selected_beam.T, rows.T].flatten(0, 1)
            outputs = torch.cat([outputs[rows, selected_beam], selected_words.unsqueeze(-1)], dim=-1)
            finished = finished[rows, selected_beam] | (selected_words == EOS).unsqueeze(-1)
            seq_logprob = selected_logprob.unsqueeze(-1)
            words = selected_words.T.flatten()
        return outputs[:, 0], seq_logprob[:, 0, 0]


def main():
    torch.manual_seed(0)
    regions, captions = make_captions(1500, seed=1)
    test_regions, test_captions = make_captions(100, seed=2)
    model = CaptioningModel(vocab_size=12)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(12):
        total = 0.0
        for idx in torch.randperm(len(regions)).split(100):
            out = model(regions[idx], captions[idx])
            loss = F.nll_loss(out.flatten(0, 1), captions[idx].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        if epoch % 4 == 3:
            print('epoch %2d loss %.4f' % (epoch + 1, total / len(regions)))

    model.eval()
    with torch.no_grad():
        best, logprob = model.beam_search(test_regions, max_len=4, beam_size=5)
    exact = (best == test_captions).all(dim=1).float().mean().item()
    print('exact captions %.2f, mean log probability %.3f' % (exact, logprob.mean()))


if __name__ == '__main__':
    main()
