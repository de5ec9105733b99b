"""Scripts and models that write, rename and remove files in every way."""

HEAD = """
import os, shutil, pathlib, sqlite3, subprocess, sys, tarfile, ctypes, threading
import numpy as np
import torch
from torch import nn
net = nn.Linear(4, 2)
net(torch.randn(3, 4))
"""

SCRIPTS = {
    "checkpoints": """
torch.save(net.state_dict(), "last.pt")
assert set(torch.load("last.pt")) == {"weight", "bias"}
os.replace("last.pt", "best.pt")
torch.jit.save(torch.jit.script(nn.ReLU()), "scripted.pt")
assert torch.jit.load("scripted.pt")(torch.ones(2)).shape == (2,)
torch.from_file("numbers.bin", shared=True, size=4, dtype=torch.uint8).fill_(7)
with open("last.pt", "wb") as file:
    torch.save({"epoch": 1}, file)
""",
    "Python's functions": """
open("a.txt", "w").write("changed")
open("a.txt", "a").write("changed")
with open("d/b.txt", "r+") as file:
    file.truncate()
os.remove("d/b.txt")
shutil.rmtree("d")
os.rename("e", "d")
os.truncate("numbers.bin", 1)
os.chmod("a.txt", 0)
os.utime("a.txt", (0, 0))
os.mkdir("new")
os.symlink("a.txt", "link")
pathlib.Path("numbers.bin").unlink()
pathlib.Path("deep/er").mkdir(parents=True)
pathlib.Path("a.txt").rename("deep/er/a.txt")
os.close(os.open("low.txt", os.O_WRONLY | os.O_CREAT))
folder = os.open(".", os.O_RDONLY)
os.close(os.open("best.pt", os.O_WRONLY | os.O_TRUNC, dir_fd=folder))
os.unlink("best.pt", dir_fd=folder)
""",
    "libraries": """
np.save("numbers.npy", np.arange(3))
np.arange(3).tofile("numbers.bin")
np.memmap("best.pt", dtype="uint8", mode="r+")[:] = 0
np.memmap("mapped.bin", dtype="uint8", mode="w+", shape=(4,))[:] = 1
with sqlite3.connect("runs.db") as base:
    base.execute("insert into runs values (2)")
    assert base.execute("select count(*) from runs").fetchone() == (2,)
base.close()
with sqlite3.connect("new.db") as base:
    base.execute("create table a (b)")
base.close()
with tarfile.open("all.tar", "w") as file:
    file.add("a.txt")
with tarfile.open("all.tar") as file:
    file.extractall("out")
""",
    "processes": """
os.system("rm -rf d a.txt; echo x > e/c.txt; chmod 000 best.pt")
subprocess.run(["cp", "a.txt", "copied.txt"])
subprocess.run([sys.executable, "-c", "import os; os.remove('best.pt')"])
if os.fork() == 0:
    os.remove("a.txt")
    os._exit(0)
os.wait()
thread = threading.Thread(target=os.remove, args=("a.txt",))
thread.start()
thread.join()
""",
    "C": """
C = ctypes.CDLL(None)
C.unlink(b"a.txt")
C.rename(b"d", b"f")
C.truncate(b"best.pt", 0)
C.chmod(b"best.pt", 0)
file = C.open(b"numbers.bin", os.O_WRONLY | os.O_TRUNC)
C.write(file, b"x", 1)
C.mkdir(b"new", 0o777)
import posix
for change in (posix.remove, posix.rmdir, posix.mkdir):
    try:
        change("e")
    except OSError:
        pass
try:
    posix.remove("best.pt")
except OSError:
    pass
""",
}
"""Each is run in a folder that `fill` of `test_commands.py` made."""

MODEL = """
import os, shutil
import torch
from torch import nn

with open("imported.txt", "w") as file:
    file.write("x")
os.remove("a.txt")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 2)
        shutil.rmtree("d", ignore_errors=True)

    def forward(self, x):
        x = self.one(x)
        assert os.path.exists("imported.txt")
        torch.save(x, "best.pt")
        return x
"""
