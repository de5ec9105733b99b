"""Stand-ins of packages whose kernels need a device, one module for each package.

Each has `SOURCE` (where its signatures are documented), `VERSION` and `MODULES`: the
names of each of its modules, ``""`` for the package itself.
"""
