"""Stand-ins of packages that are not installed: a file for each, of its name.

A file defines ``MODULES``, the names of each module of the package (``""`` is the
package itself), ``SOURCE``, where they are documented, and ``VERSION``. Kernels compute
with torch's own operators, in their documented signatures, and refuse what the
originals refuse; values that would come from data are zeros.
"""
