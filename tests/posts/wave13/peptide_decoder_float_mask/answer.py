import torch
import torch.nn as nn
import torch.nn.functional as F

RESIDUES = 'GASPVTLNDKEMHFRYW'
MASSES = torch.tensor([57.02, 71.04, 87.03, 97.05, 99.07, 101.05, 113.08, 114.04, 115.03,
                       128.09, 129.04, 131.04, 137.06, 147.07, 156.10, 163.06, 186.08])
PAD, START, STOP = 0, len(RESIDUES) + 1, len(RESIDUES) + 2


def simulate(n, length=6, seed=0):
    """random peptides with the b ions as their spectrum"""
    g = torch.Generator().manual_seed(seed)
    seqs = torch.randint(0, len(RESIDUES), (n, length), generator=g)
    mz = MASSES[seqs].cumsum(dim=1)
    intensity = 0.5 + 0.5 * torch.rand(n, length, generator=g)
    spectra = torch.stack([mz, intensity], dim=-1)
    tokens = torch.cat([seqs + 1, torch.full((n, 1), STOP)], dim=1)
    return spectra, tokens


class PeakEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        wave = 1.0 * (2000.0 / 1.0) ** (torch.arange(dim // 2) / (dim // 2 - 1))
        self.register_buffer('freq', 2 * torch.pi / wave)
        self.intensity = nn.Linear(1, dim, bias=False)

    def forward(self, spectra):
        angle = spectra[..., :1] * self.freq
        return torch.cat([angle.sin(), angle.cos()], dim=-1) + self.intensity(spectra[..., 1:])


class PeptideDecoder(nn.Module):
    def __init__(self, dim=48, heads=4, layers=1, max_len=16):
        super().__init__()
        self.aa_encoder = nn.Embedding(STOP + 1, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerDecoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True)
        self.transformer_decoder = nn.TransformerDecoder(layer, layers)
        self.final = nn.Linear(dim, STOP + 1)

    @staticmethod
    def generate_tgt_mask(size):
        """positions above the diagonal are to be left out"""
        return ~torch.tril(torch.ones(size, size, dtype=torch.bool))

    def forward(self, tokens, memory):
        start = torch.full((len(tokens), 1), START)
        tgt = torch.cat([start, tokens], dim=1)
        tgt = self.aa_encoder(tgt) + self.pos(torch.arange(tgt.shape[1]))
        tgt_mask = self.generate_tgt_mask(tgt.shape[1])
        out = self.transformer_decoder(tgt, memory, tgt_mask=tgt_mask)
        return self.final(out)


class Spec2Pep(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.peaks = PeakEncoder(dim)
        self.decoder = PeptideDecoder(dim)

    def forward(self, spectra, tokens):
        return self.decoder(tokens, self.peaks(spectra))

    @torch.no_grad()
    def predict(self, spectra, length):
        memory = self.peaks(spectra)
        tokens = torch.empty(len(spectra), 0, dtype=torch.long)
        for _ in range(length):
            step = self.decoder(tokens, memory)[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, step], dim=1)
        return tokens


def main():
    torch.manual_seed(0)
    spectra, tokens = simulate(1024, seed=1)
    val_spectra, val_tokens = simulate(128, seed=2)
    model = Spec2Pep()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(15):
        total = 0.0
        for idx in torch.randperm(len(spectra)).split(64):
            logits = model(spectra[idx], tokens[idx])[:, :-1]
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[idx].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        if epoch % 3 == 2:
            pred = model.predict(val_spectra, val_tokens.shape[1])
            hits = (pred == val_tokens)[:, :-1].float().mean().item()
            print('epoch %2d train loss %.3f  val residue accuracy %.3f'
                  % (epoch + 1, total / len(spectra), hits))


if __name__ == '__main__':
    main()
