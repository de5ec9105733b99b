import argparse
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel

N_WORDS = 20
START, DELIM, CLF = N_WORDS, N_WORDS + 1, N_WORDS + 2


class ClozeModel(nn.Module):
    """GPT-2 language model plus a multiple choice head over two endings."""

    def __init__(self, config):
        super().__init__()
        self.lm = GPT2LMHeadModel(config)
        self.choice_head = nn.Linear(config.n_embd, 1)

    def forward(self, input_ids, mc_token_ids, lm_labels, mc_labels):
        bsz, n_choice, length = input_ids.shape
        flat = input_ids.view(-1, length)
        out = self.lm(flat, labels=lm_labels.view(-1, length), output_hidden_states=True)
        hidden = out.hidden_states[-1]
        at_clf = hidden[torch.arange(flat.size(0)), mc_token_ids.view(-1)]
        mc_logits = self.choice_head(at_clf).view(bsz, n_choice)
        return out.loss, nn.functional.cross_entropy(mc_logits, mc_labels), mc_logits


def make_stories(n, rng):
    """Counting stories; the right ending continues the count."""
    data = []
    for _ in range(n):
        first, stride = rng.randrange(N_WORDS), rng.choice([1, 2])
        story = [(first + stride * k) % N_WORDS for k in range(rng.randint(8, 12))]
        good = [(story[-1] + stride * k) % N_WORDS for k in range(1, 5)]
        bad = [rng.randrange(N_WORDS) for _ in range(4)]
        label = rng.randrange(2)
        data.append((story, bad if label else good, good if label else bad, label))
    return data


def pre_process(stories, input_len, cap_length):
    n = len(stories)
    input_ids = np.zeros((n, 2, input_len), dtype=np.int64)
    mc_token_ids = np.zeros((n, 2), dtype=np.int64)
    lm_labels = np.full((n, 2, input_len), fill_value=-100, dtype=np.int64)
    mc_labels = np.zeros((n,), dtype=np.int64)
    for i, (story, cont1, cont2, mc_label) in enumerate(stories):
        with_cont1 = [START] + story[:cap_length] + [DELIM] + cont1[:cap_length] + [CLF]
        with_cont2 = [START] + story[:cap_length] + [DELIM] + cont2[:cap_length] + [CLF]
        input_ids[i, 0, :len(with_cont1)] = with_cont1
        input_ids[i, 1, :len(with_cont2)] = with_cont2
        mc_token_ids[i, 0] = len(with_cont1) - 1
        mc_token_ids[i, 1] = len(with_cont2) - 1
        lm_labels[i, 0, :len(with_cont1)] = with_cont1
        lm_labels[i, 1, :len(with_cont2)] = with_cont2
        mc_labels[i] = mc_label
    return TensorDataset(*(torch.from_numpy(a) for a in (input_ids, mc_token_ids, lm_labels, mc_labels)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seed', type=int, default=42)
    parser.add_argument('--num_train_epochs', type=int, default=12)
    parser.add_argument('--train_batch_size', type=int, default=16)
    parser.add_argument('--learning_rate', type=float, default=1e-3)
    parser.add_argument('--lm_coef', type=float, default=0.9)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)

    rng = random.Random(args.seed)
    train_set = pre_process(make_stories(500, rng), input_len=20, cap_length=12)
    eval_set = pre_process(make_stories(100, rng), input_len=20, cap_length=12)
    config = GPT2Config(vocab_size=N_WORDS + 3, n_positions=20, n_embd=64, n_layer=2, n_head=4,
                        bos_token_id=START, eos_token_id=CLF)
    model = ClozeModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    loader = DataLoader(train_set, sampler=RandomSampler(train_set), batch_size=args.train_batch_size)

    for epoch in range(args.num_train_epochs):
        model.train()
        tr_lm, tr_mc = 0.0, 0.0
        for batch in loader:
            lm_loss, mc_loss, _ = model(*batch)
            loss = args.lm_coef * lm_loss + mc_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tr_lm += lm_loss.item()
            tr_mc += mc_loss.item()
        print('epoch %d lm loss %.3f mc loss %.3f' % (epoch, tr_lm / len(loader), tr_mc / len(loader)))

    model.eval()
    right = 0
    with torch.no_grad():
        for batch in DataLoader(eval_set, batch_size=50):
            right += (model(*batch)[2].argmax(dim=1) == batch[3]).sum().item()
        prompt = torch.tensor([[START, 10, 11, 12, 13, 14, 15]])
        next_word = model.lm(prompt).logits[0, -1].argmax().item()
    print('eval accuracy %.3f' % (right / len(eval_set)), '| after ... 13 14 15 the model says', next_word)


if __name__ == '__main__':
    main()
