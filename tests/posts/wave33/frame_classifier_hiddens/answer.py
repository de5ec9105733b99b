import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

FEAT_DIM, PHONES = 40, 12


class FramePhones(Dataset):
    def __init__(self, n_utts, seed):
        gen = torch.Generator().manual_seed(seed)
        proto = torch.randn(PHONES, FEAT_DIM, generator=torch.Generator().manual_seed(99))
        self.utts = []
        for _ in range(n_utts):
            n_frames = int(torch.randint(20, 50, (1,), generator=gen))
            phones = torch.randint(0, PHONES, (n_frames,), generator=gen)
            feats = (proto[phones] * proto[phones.roll(1)]).tanh()
            feats = feats + 0.5 * torch.randn(n_frames, FEAT_DIM, generator=gen)
            self.utts.append((feats, phones))

    def __len__(self):
        return len(self.utts)

    def __getitem__(self, i):
        return self.utts[i]


def collate(batch):
    feats, phones = zip(*batch)
    lens = torch.tensor([len(p) for p in phones])
    return pad_sequence(feats, batch_first=True), lens, pad_sequence(phones, batch_first=True, padding_value=-100)


class FrameLevel(nn.Module):
    """
    in_linear -> (hidden linear, activation) * n -> final projection, frame by frame
    """

    def __init__(self, input_size, output_size, hidden_sizes=(64, 64), activation=nn.ReLU):
        super().__init__()
        self.in_linear = nn.Linear(input_size, hidden_sizes[0])
        self.act = activation()
        sizes = list(hidden_sizes)
        self.hiddens = nn.ModuleList([
            nn.Sequential(nn.Linear(a, b), activation()) for a, b in zip(sizes, sizes[1:] + sizes[-1:])])
        self.final_proj = nn.Linear(sizes[-1], output_size)

    def forward(self, xs, xs_len):
        hidden_states = self.act(self.in_linear(xs))
        for hidden in self.hiddens:
            hidden_states = hidden(hidden_states)
        ys = self.final_proj(hidden_states)
        return ys, xs_len


def frame_accuracy(model, loader):
    model.eval()
    hit, total = 0, 0
    with torch.no_grad():
        for feats, lens, phones in loader:
            ys, _ = model(feats, lens)
            valid = phones != -100
            hit += (ys.argmax(-1)[valid] == phones[valid]).sum().item()
            total += valid.sum().item()
    return hit / total


def main():
    torch.manual_seed(0)
    train = DataLoader(FramePhones(120, 0), batch_size=8, shuffle=True, collate_fn=collate)
    dev = DataLoader(FramePhones(40, 1), batch_size=8, collate_fn=collate)

    model = FrameLevel(FEAT_DIM, PHONES, hidden_sizes=(64, 64))
    print(sum(p.numel() for p in model.parameters()), "parameters")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)

    for epoch in range(6):
        model.train()
        running = 0.0
        for feats, lens, phones in train:
            ys, _ = model(feats, lens)
            loss = criterion(ys.transpose(1, 2), phones)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(train):.4f} dev acc {frame_accuracy(model, dev):.4f}")


if __name__ == "__main__":
    main()
