import logging
import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(message)s")


class LabelModel(nn.Module):
    def __init__(self, num_classes, num_lfs, init_acc=0.8, acc_prior=0.02):
        super().__init__()
        logit = -np.log((1.0 / init_acc) - 1)
        self.accuracy = nn.Parameter(torch.full((num_lfs, num_classes), float(logit)))
        self.propensity = nn.Parameter(torch.zeros(num_lfs))
        self.class_balance = nn.Parameter(torch.zeros(num_classes))
        self.num_classes = num_classes
        self.acc_prior = acc_prior
        self.init_logit = float(logit)

    def log_joint(self, votes):
        log_acc = nn.functional.logsigmoid(self.accuracy)
        log_err = nn.functional.logsigmoid(-self.accuracy) - np.log(self.num_classes - 1)
        log_vote = nn.functional.logsigmoid(self.propensity)
        log_abstain = nn.functional.logsigmoid(-self.propensity)
        classes = torch.arange(1, self.num_classes + 1)
        agree = votes.unsqueeze(2) == classes
        given_vote = torch.where(agree, log_acc, log_err) + log_vote.unsqueeze(1)
        per_lf = torch.where((votes == 0).unsqueeze(2), log_abstain.unsqueeze(1), given_vote)
        return per_lf.sum(1) + torch.log_softmax(self.class_balance, 0)

    def forward(self, votes):
        return torch.logsumexp(self.log_joint(votes), dim=1)

    def regularizer(self):
        return self.acc_prior * (self.accuracy - self.init_logit).pow(2).sum()

    def estimate(self, votes, epochs=5, batch_size=64, lr=0.02):
        optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        num_batches = int(np.ceil(len(votes) / batch_size))
        for epoch in range(epochs):
            logging.info("Epoch %d/%d", epoch + 1, epochs)
            self.train()
            running_loss = 0.0
            order = torch.randperm(len(votes))
            for i_batch in range(num_batches):
                batch = votes[order[i_batch * batch_size:(i_batch + 1) * batch_size]]
                optimizer.zero_grad()
                log_likelihood = self(batch)
                loss = -torch.mean(log_likelihood)
                loss = loss + self.regularizer() / len(votes)
                loss.backward()
                optimizer.step()
                running_loss += loss
            epoch_loss = running_loss / num_batches
            logging.info("Train Loss: %.6f", epoch_loss)

    @torch.no_grad()
    def get_labels(self, votes):
        self.eval()
        return self.log_joint(votes).argmax(1) + 1


def make_votes(num_examples, num_classes, num_lfs, seed=0):
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, num_classes + 1, num_examples)
    votes = np.zeros((num_examples, num_lfs), dtype=np.int64)
    for j in range(num_lfs):
        acc, coverage = rng.uniform(0.6, 0.9), rng.uniform(0.3, 0.9)
        correct = rng.random(num_examples) < acc
        wrong = (gold + rng.integers(1, num_classes, num_examples) - 1) % num_classes + 1
        fired = rng.random(num_examples) < coverage
        votes[fired, j] = np.where(correct, gold, wrong)[fired]
    return torch.from_numpy(votes), torch.from_numpy(gold)


if __name__ == "__main__":
    torch.manual_seed(0)
    votes, gold = make_votes(20000, num_classes=3, num_lfs=10)
    model = LabelModel(num_classes=3, num_lfs=10)
    model.estimate(votes)
    accuracy = (model.get_labels(votes) == gold).float().mean().item()
    logging.info("label accuracy %.4f", accuracy)
