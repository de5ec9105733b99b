"""Other people's training scripts with all they need to run: small data, stand-ins.

    python tests/rehearsals/fixtures.py CHECKOUT [NAME ...]

`CHECKOUT` is a folder with work trees `examples` (of pytorch/examples) and `nanoGPT`
(of karpathy/nanoGPT); none of their files is kept here. `prepare` copies one example
into a folder, with data for it; run as a script, each then runs for real on the CPU.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rehearsals import fake_data

STUBS = Path(__file__).resolve().parent / "stubs"
LIMIT = 300


@dataclass(frozen=True)
class Example:
    """A script in a checkout, what it is given, and the data it finds.

    `lacks` names the libraries that it imports beyond torch and numpy, `copied` what
    of the checkout it needs if that is not its own folder, `device` what a rehearsal
    claims.
    """

    script: str
    arguments: str
    data: Callable[[Path], None] = lambda folder: None
    lacks: tuple[str, ...] = ("torchvision",)
    copied: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    device: str = "cpu"
    note: str = ""


@dataclass(frozen=True)
class Prepared:
    """What to run, from which folder, with which additions to the environment."""

    script: Path
    arguments: list[str]
    folder: Path
    environment: dict[str, str]
    device: str = "cpu"


def beside(folder: Path) -> None:
    fake_data.mnist(folder.parent / "data")


def photographs(folder: Path) -> None:
    for part, each in (("train", 3), ("val", 2)):
        fake_data.image_folder(folder / "photographs" / part, 6, each)


def berkeley(folder: Path) -> None:
    for part, count in (("train", 9), ("test", 5)):
        images = folder / "dataset" / "BSDS300" / "images" / part
        fake_data.image_files(images, count, 321, 481)


def styles(folder: Path) -> None:
    fake_data.image_folder(folder / "coco", 1, 7, 70, 80)
    fake_data.image_files(folder / "style", 1, 64, 72)
    (folder / "style" / "0000.jpg").rename(folder / "style.jpg")


MNIST = "--epochs 2 --batch-size 64 --test-batch-size 100"
EXAMPLES = {
    "mnist": Example("mnist/main.py", f"{MNIST} --save-model", beside),
    "imagenet": Example(
        "imagenet/main.py",
        "photographs --epochs 1 -b 8 -j 2 -p 1",
        photographs,
        note="models.__dict__ is read for its lower-case names",
    ),
    "dcgan": Example(
        "dcgan/main.py",
        "--dataset cifar10 --dataroot dataset --niter 2 --batchSize 12 --ngf 8 --ndf 8",
        lambda folder: fake_data.cifar10(folder / "dataset"),
    ),
    "vae": Example("vae/main.py", "--epochs 2 --batch-size 64", beside),
    "word_language_model": Example(
        "word_language_model/main.py",
        "--epochs 2 --emsize 20 --nhid 20 --log-interval 10",
        lambda folder: fake_data.wikitext(folder / "data" / "wikitext-2"),
        lacks=(),
    ),
    "word_language_model_transformer": Example(
        "word_language_model/main.py",
        "--model Transformer --epochs 1 --emsize 20 --nhid 20 --lr 5",
        lambda folder: fake_data.wikitext(folder / "data" / "wikitext-2"),
        lacks=(),
    ),
    "super_resolution": Example(
        "super_resolution/main.py",
        "--upscale_factor 3 --batchSize 4 --testBatchSize 4 --nEpochs 1 --threads 1",
        berkeley,
        lacks=("torchvision", "PIL", "six"),
    ),
    "fast_neural_style": Example(
        "fast_neural_style/neural_style/neural_style.py",
        "train --epochs 1 --batch-size 3 --image-size 64 --dataset coco "
        "--style-image style.jpg --save-model-dir models --log-interval 1 "
        "--checkpoint-model-dir checkpoints --checkpoint-interval 2",
        styles,
        lacks=("torchvision", "PIL"),
        copied="fast_neural_style/neural_style",
    ),
    "siamese_network": Example(
        "siamese_network/main.py",
        "--epochs 1 --batch-size 60 --test-batch-size 70",
        beside,
    ),
    "gcn": Example(
        "gcn/main.py",
        "--epochs 3 --val-every 1",
        fake_data.cora,
        lacks=("requests",),
    ),
    "gat": Example(
        "gat/main.py",
        "--epochs 2 --val-every 1 --hidden-dim 16 --num-heads 2",
        fake_data.cora,
        lacks=("requests",),
        note="holds tensors of nodes x nodes: 1,800 nodes need 13 MB each",
    ),
    "regression": Example("regression/main.py", "", lacks=()),
    "time_sequence_prediction": Example(
        "time_sequence_prediction/train.py",
        "--steps 1",
        lambda folder: fake_data.sines(folder / "traindata.pt"),
        lacks=("matplotlib",),
        environment={"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"},
        note="loads an array, which torch since 2.6 refuses unless told so",
    ),
    "reinforce": Example(
        "reinforcement_learning/reinforce.py", "", lacks=("gymnasium",)
    ),
    "actor_critic": Example(
        "reinforcement_learning/actor_critic.py", "", lacks=("gymnasium",)
    ),
    "vision_transformer": Example(
        "vision_transformer/main.py",
        "--no-cuda --epochs 1 --img-size 32 --patch-size 8 --latent-size 24 "
        "--num-heads 3 --num-encoders 2",
        lambda folder: fake_data.cifar10(folder / "dataset"),
        lacks=("torchvision", "tqdm"),
        note="gone from the repository since commit e8a38cc, so the checkout needs it "
        "from before; a batch of fewer than the batch size would raise. That its "
        "attention runs along the batch is true: its logits do not depend on images",
    ),
    "language_translation": Example(
        "language_translation/main.py",
        "-e 2 --enc_layers 1 --dec_layers 1 --batch 16 --embed_size 32 "
        "--dim_feedforward 32 --attn_heads 2 --logging_dir output/",
        lambda folder: fake_data.multi30k(folder / ".data" / "Multi30k"),
        lacks=("torchtext", "spacy", "tqdm"),
    ),
    "minGPT-ddp": Example(
        "distributed/minGPT-ddp/mingpt/main.py",
        "data_config.path=input.txt data_config.truncate=1.0 "
        "data_config.block_size=32 gpt_config.n_layer=2 gpt_config.n_embd=32 "
        "gpt_config.n_head=2 trainer_config.max_epochs=1 trainer_config.save_every=1 "
        "trainer_config.data_loader_workers=0",
        lambda folder: fake_data.text_file(folder / "input.txt"),
        lacks=("hydra", "omegaconf", "boto3", "fsspec"),
        device="2x H100 80GB",
        note="ends at once unless there are two GPUs; on the CPU nothing of it runs",
    ),
    "mnist_rnn": Example("mnist_rnn/main.py", f"{MNIST} --save-model", beside),
    "mnist_hogwild": Example(
        "mnist_hogwild/main.py", "--epochs 1 --batch-size 64 --save_model", beside
    ),
    "mnist_forward_forward": Example(
        "mnist_forward_forward/main.py",
        "--epochs 20 --train_size 300 --test_size 130 --save_model",
        lambda folder: fake_data.mnist(folder / "data"),
    ),
    "nanoGPT": Example(
        "../nanoGPT/train.py",
        "config/train_shakespeare_char.py --device=cpu --compile=False --eval_iters=2 "
        "--max_iters=4 --eval_interval=2 --log_interval=1 --block_size=64 "
        "--batch_size=12 --n_layer=2 --n_head=2 --n_embd=64 --lr_decay_iters=4 "
        "--dtype=float32",
        lambda folder: fake_data.characters(folder / "data" / "shakespeare_char"),
        lacks=(),
    ),
}


def prepare(name: str, checkout: Path, folder: Path) -> Prepared:
    """Copies an example into this folder and writes the data that it reads."""
    example = EXAMPLES[name]
    script = (checkout / "examples" / example.script).resolve()
    source = checkout / "examples" / example.copied if example.copied else script.parent
    target = folder / source.resolve().name
    unwanted = shutil.ignore_patterns("data", "images", "assets", ".git")
    shutil.copytree(source, target, ignore=unwanted)
    example.data(target)
    paths = [str(STUBS), os.environ.get("PYTHONPATH", "")]
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        **example.environment,
    }
    return Prepared(
        script=target / script.relative_to(source.resolve()),
        arguments=example.arguments.split(),
        folder=target,
        environment=environment,
        device=example.device,
    )


def run(name: str, checkout: Path) -> tuple[bool, str]:
    """Runs an example for real; whether it ended well, and its last line or error."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(name, checkout, Path(folder))
        try:
            ran = subprocess.run(
                [sys.executable, str(prepared.script), *prepared.arguments],
                cwd=prepared.folder,
                env=os.environ | prepared.environment,
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return False, f"over {LIMIT} s"
    said = (ran.stdout if ran.returncode == 0 else ran.stderr).strip()
    return ran.returncode == 0, (said.splitlines() or [""])[-1]


def main(arguments: list[str]) -> int:
    checkout, chosen = Path(arguments[0]), arguments[1:]
    bad = 0
    for name in chosen or EXAMPLES:
        start = time.perf_counter()
        good, last = run(name, checkout)
        took = time.perf_counter() - start
        print(f"{name}: {'ran' if good else 'failed'} in {took:.1f} s: {last}")
        bad += not good
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
