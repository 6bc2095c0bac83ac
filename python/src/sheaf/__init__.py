"""Sheaf from Python: sessions, and values that share the memory of NumPy, PyTorch and JAX arrays.

import numpy as np, sheaf
s = sheaf.Session(tensors="numpy")
s.eval("(defn f [x] (* x 2))")
s.f(np.arange(3.0))
"""

import atexit as _atexit

from . import _sheaf
from ._sheaf import Error, Function, Keyword, Tensor, use_device

__all__ = ["Error", "Function", "Keyword", "Session", "Tensor", "use_device"]
__version__ = _sheaf.version

_atexit.register(_sheaf._leave)


def _converter(tensors):
    if tensors == "numpy":
        import numpy

        return numpy.asarray
    if tensors == "torch":
        import torch

        return torch.from_dlpack
    if tensors is None or callable(tensors):
        return tensors
    raise ValueError(f"tensors: expected 'numpy', 'torch', a function or None, got {tensors!r}")


class Session(_sheaf.Session):
    """A running Sheaf with definitions of its own.

    `tensors` says what tensors in results become: sheaf.Tensor (None), "numpy" or "torch" arrays over the same memory,
    or what a function makes of each. Global names are attributes: `s.train_step(x)` calls `train-step`; `s["loss!"]` is
    for names that Python cannot spell.
    """

    def __init__(self, tensors=None):
        super().__init__(_converter(tensors))

    def __getitem__(self, name):
        value = self.lookup(name)
        return _Global(self, name) if isinstance(value, Function) else value

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        for spelled in dict.fromkeys((name, name.replace("_", "-"))):
            try:
                return self[spelled]
            except Error as error:
                if error.message != f"Undefined symbol: {spelled}":
                    raise
        raise AttributeError(f"the session defines no {name}")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class _Global:
    """A function by its name: called as the program would call it, and as it is defined at that time."""

    def __init__(self, session, name):
        self._session = session
        self._name = name

    def __call__(self, *args, **named):
        return self._session.call(self._name, *args, **named)

    def __repr__(self):
        return f"<sheaf function {self._name}>"
