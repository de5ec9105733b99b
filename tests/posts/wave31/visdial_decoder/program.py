import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("-num_options", type=int, default=20)
parser.add_argument("-embed_size", type=int, default=32)
parser.add_argument("-rnn_hidden_size", type=int, default=64)
parser.add_argument("-img_feature_size", type=int, default=48)
parser.add_argument("-batch_size", type=int, default=16)
parser.add_argument("-num_epochs", type=int, default=4)
parser.add_argument("-lr", type=float, default=3e-3)
VOCAB = 120


class DialogRounds(Dataset):
    """One round of a dialog about an image: question tokens, image features, candidate answers, right one."""

    def __init__(self, n, args, seed):
        g = torch.Generator().manual_seed(seed)
        self.topic = torch.randint(0, 10, (n,), generator=g)
        self.ques = torch.randint(20, VOCAB, (n, 8), generator=g)
        self.ques[:, 2] = 1 + self.topic
        self.img = torch.randn(n, args.img_feature_size, generator=g)
        self.opts = torch.randint(20, VOCAB, (n, args.num_options, 5), generator=g)
        self.ans_ind = torch.randint(0, args.num_options, (n,), generator=g)
        self.opts[torch.arange(n), self.ans_ind, 1] = 10 + self.topic

    def __len__(self):
        return len(self.ques)

    def __getitem__(self, i):
        return {"ques": self.ques[i], "img_feat": self.img[i], "opt": self.opts[i], "ans_ind": self.ans_ind[i]}


class LateFusionEncoder(nn.Module):
    def __init__(self, args, word_embed):
        super().__init__()
        self.word_embed = word_embed
        self.ques_rnn = nn.LSTM(args.embed_size, args.rnn_hidden_size, batch_first=True)
        self.fusion = nn.Linear(args.rnn_hidden_size + args.img_feature_size, args.rnn_hidden_size)

    def forward(self, batch):
        _, (h, _) = self.ques_rnn(self.word_embed(batch["ques"]))
        return torch.tanh(self.fusion(torch.cat((h[-1], batch["img_feat"]), 1)))


class DiscriminativeDecoder(nn.Module):
    def __init__(self, args, word_embed):
        super().__init__()
        self.args = args
        self.word_embed = word_embed
        self.option_rnn = nn.LSTM(args.embed_size, args.rnn_hidden_size, batch_first=True)
        self.log_softmax = nn.LogSoftmax(dim=0)

    def forward(self, enc_out, batch):
        options = batch["opt"]
        batch_size, num_options, max_len = options.size()
        embedded = self.word_embed(options.view(-1, max_len))
        _, (h, _) = self.option_rnn(embedded)
        h = h[-1].view(batch_size, num_options, -1)
        scores = torch.sum(h * enc_out.unsqueeze(1), 2)
        return self.log_softmax(scores)


def scores_to_ranks(scores):
    order = scores.sort(1, descending=True)[1]
    return order.argsort(1) + 1


def evaluate(encoder, decoder, loader):
    encoder.eval(), decoder.eval()
    ranks = []
    with torch.no_grad():
        for batch in loader:
            log_probs = decoder(encoder(batch), batch)
            ranks.append(scores_to_ranks(log_probs).gather(1, batch["ans_ind"].unsqueeze(1)))
    ranks = torch.cat(ranks).float()
    print("\tr@1: %.3f r@5: %.3f mean rank: %.2f mrr: %.3f" % (
        (ranks <= 1).float().mean(), (ranks <= 5).float().mean(), ranks.mean(), ranks.reciprocal().mean()))


if __name__ == "__main__":
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(DialogRounds(800, args, 1), batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(DialogRounds(160, args, 2), batch_size=args.batch_size)

    word_embed = nn.Embedding(VOCAB, args.embed_size, padding_idx=0)
    encoder = LateFusionEncoder(args, word_embed)
    decoder = DiscriminativeDecoder(args, word_embed)
    criterion = nn.NLLLoss()
    params = {id(p): p for p in list(encoder.parameters()) + list(decoder.parameters())}
    optimizer = optim.Adam(params.values(), lr=args.lr)

    running_loss = 0.0
    for epoch in range(1, args.num_epochs + 1):
        encoder.train(), decoder.train()
        for batch in train_loader:
            optimizer.zero_grad()
            loss = criterion(decoder(encoder(batch), batch), batch["ans_ind"])
            loss.backward()
            optimizer.step()
            running_loss = 0.95 * running_loss + 0.05 * loss.item() if running_loss > 0.0 else loss.item()
        print("epoch %d running loss %.4f" % (epoch, running_loss))
        evaluate(encoder, decoder, val_loader)
