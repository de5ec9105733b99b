"""Mistakes for seven of the examples, from a classifier to a language model."""

from rehearsals.mistakes.mistake import Mistake

MISTAKES = {
    "mnist": (
        Mistake(
            "data",
            "transforms.ToTensor()",
            "transforms.Resize(32), transforms.ToTensor()",
            ("self.fc1(x)",),
        ),
        Mistake("model", "nn.Linear(128,", "nn.Linear(64,", ("self.fc2(x)",)),
        Mistake(
            "loss", "nll_loss(output, target)", "nll_loss(output, target[:, None])"
        ),
        Mistake(
            "optimizer",
            "optimizer.zero_grad()",
            "pass",
            ("loss.backward()", "optimizer.step()"),
            "gradients-not-cleared",
        ),
        Mistake(
            "evaluation", "target.view_as(pred)", "target", code="implicit-broadcast"
        ),
    ),
    "nanoGPT": (
        Mistake(
            "data",
            "data[i+1:i+1+block_size]",
            "data[i:i+1+block_size]",
            ("model.py|F.cross_entropy(", "estimate_loss(): ... model(X, Y)"),
        ),
        Mistake(
            "model",
            "nn.Linear(4 * config.n_embd",
            "nn.Linear(2 * config.n_embd",
            ("class MLP ... self.c_proj(x)",),
            file="model.py",
        ),
        Mistake("loss", "targets.view(-1)", "targets", file="model.py"),
        Mistake(
            "optimizer",
            "p.dim() >= 2",
            "p.dim() >= 1",
            ("torch.optim.AdamW(optim_groups",),
            file="model.py",
        ),
        Mistake(
            "evaluation",
            "torch.zeros(eval_iters)",
            "torch.zeros(eval_iters - 1)",
            ("losses[k] =",),
        ),
    ),
    "word_language_model": (
        Mistake(
            "data",
            "data.narrow(0, 0, nbatch * bsz)",
            "data",
            ("data.view(bsz, -1)",),
        ),
        Mistake(
            "model",
            "nn.Linear(nhid, ntoken)",
            "nn.Linear(2 * nhid, ntoken)",
            ("class RNNModel ... self.decoder(output)",),
            file="model.py",
        ),
        Mistake(
            "loss",
            "[i+1:i+1+seq_len].view(-1)",
            "[i+1:i+1+seq_len]",
            ("def train( ... criterion(output, targets)",),
        ),
        Mistake(
            "second batch",
            "def train( ... hidden = repackage_hidden(hidden)",
            "pass",
            ("loss.backward()", "def train( ... model(data, hidden)"),
        ),
        Mistake(
            "evaluation",
            "init_hidden(eval_batch_size)",
            "init_hidden(args.batch_size)",
            ("model.py|self.rnn(emb, hidden)", "def evaluate( ... model(data, hidden)"),
        ),
    ),
    "dcgan": (
        Mistake(
            "data",
            "dset.CIFAR10( ... Resize(opt.imageSize)",
            "Resize(48)",
            (
                "class Discriminator ... self.main(input)",
                "nn.Conv2d(ndf * 8, 1, 4",
                "output = netD(real_cpu)",
            ),
        ),
        Mistake(
            "model",
            "nn.BatchNorm2d(ngf * 4)",
            "nn.BatchNorm2d(ngf * 2)",
            ("class Generator ... self.main(input)",),
        ),
        Mistake("loss", ".squeeze(1)", "", ("errD_real = criterion(",)),
        Mistake("second backward", "fake.detach())", "fake)", ("errG.backward()",)),
        Mistake(
            "last batch",
            "torch.full((batch_size,)",
            "torch.full((opt.batchSize,)",
            ("errD_real = criterion(",),
        ),
    ),
    "vae": (
        Mistake(
            "data",
            "train=True ... transforms.ToTensor()",
            "lambda image: transforms.ToTensor()(transforms.Resize(20)(image))",
            ("x.view(-1, 784))",),
        ),
        Mistake(
            "model", "fc3 = nn.Linear(20,", "fc3 = nn.Linear(40,", ("self.fc3(z)",)
        ),
        Mistake("loss", "recon_x, x.view(-1, 784)", "recon_x, x"),
        Mistake(
            "memory",
            "train_loss += loss.item()",
            "train_loss += loss",
            code="graph-kept",
        ),
        Mistake(
            "evaluation",
            "if i == 0",
            "if i == len(test_loader) - 1",
            ("recon_batch.view(args.batch_size",),
        ),
    ),
    "regression": (
        Mistake("data", "x.unsqueeze(1)", "x.unsqueeze(0)", ("x.mm(W_target)",)),
        Mistake("model", "Linear(W_target.size(0)", "Linear(1", ("fc(batch_x)",)),
        Mistake("loss", "fc(batch_x)", "fc(batch_x)[:, 0]", code="implicit-broadcast"),
        Mistake(
            "optimizer",
            "fc.zero_grad()",
            "pass",
            ("output.backward()", "param.data.add_("),
            "gradients-not-cleared",
        ),
        Mistake(
            "end",
            "fc.weight.view(-1)",
            "fc.weight",
            ("result += '{:+.2f} x^{} '",),
        ),
    ),
    "imagenet": (
        Mistake(
            "data",
            "transforms.CenterCrop(224),",
            "",
            ("in enumerate(loader)",),
        ),
        Mistake(
            "model",
            "models.__dict__[args.arch]()",
            "models.__dict__[args.arch](num_classes=5)",
            ("def train( ... criterion(output, target)",),
        ),
        Mistake(
            "loss",
            "def train( ... criterion(output, target)",
            "criterion(output, target[:, None])",
        ),
        Mistake(
            "optimizer",
            "optimizer.zero_grad()",
            "pass",
            ("loss.backward()", "optimizer.step()"),
            "gradients-not-cleared",
        ),
        Mistake("evaluation", "correct[:k].reshape(-1)", "correct[:k].view(-1)"),
    ),
}
