"""Every call is taken and does nothing; `savefig` leaves an empty file."""

from pathlib import Path


class Silent:
    def __getattr__(self, name):
        return Silent()

    def __call__(self, *parts, **options):
        return Silent()

    def __iter__(self):
        return iter((Silent(), Silent()))


def savefig(path, **options):
    Path(path).touch()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Silent()
