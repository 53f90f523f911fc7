"""Stands in for libraries for GPUs, which SGLang imports and never calls on a CPU.

Copied into SGLang's environment and imported at its start. transformers asks whether some of them
are there and must hear the truth.
"""

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType

ABSENT = {"IPython", "torchvision", "flashinfer", "sgl_kernel", "deep_gemm", "decord", "flash_attn"}
DUNDER = "__"
FRAMES_MAX = 12  # of the importing code


class Anything:
    """A class, a decorator, a type or a value, whatever it is taken for."""

    def __init__(self, *_: object, **__: object) -> None:
        """Take anything."""

    def __call__(self, *args: object, **named: object) -> object:
        """As a decorator: what is decorated."""
        return args[0] if args and callable(args[0]) and not named else Anything()

    def __getattr__(self, name: str) -> "Anything":
        """No dunder methods, else anything."""
        if name.startswith(DUNDER):
            raise AttributeError(name)
        return Anything()

    def __mro_entries__(self, _: tuple[type, ...]) -> tuple[type, ...]:
        """As a base class: object."""
        return (object,)

    def __or__(self, other: object) -> object:
        """As a part of a type: the rest of it."""
        return other

    __ror__ = __or__

    def __getitem__(self, _: object) -> "Anything":
        """As a generic type."""
        return Anything()


class AbsentModule(ModuleType):
    """A package with any attribute."""

    __path__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Anything:
        """No dunder attributes, else anything."""
        if name.startswith(DUNDER):
            raise AttributeError(name)
        return Anything()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last: a library that is installed is found before."""

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A module for the names above, unless transformers asks."""
        if name.partition(".")[0] not in ABSENT or _asked_by("transformers"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """See AbsentModule."""
        return AbsentModule(spec.name)

    def exec_module(self, _module: ModuleType) -> None:
        """There is nothing to run."""


def _asked_by(library: str) -> bool:
    frame = sys._getframe(1)
    for _ in range(FRAMES_MAX):
        if frame is None:
            return False
        if f"/{library}/" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


sys.meta_path.append(Finder())
