"""Builds the compiled parts, where there is a C compiler; without one the package is pure Python.

All else is in pyproject.toml.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent))
from dedup.native import digest_of

FLAGS = {"unix": ["-O3", "-ffp-contract=off"], "msvc": ["/O2"]}


class BuildIfPossible(build_ext):
    """Builds each part from Cython, and goes on without it whatever goes wrong."""

    def build_extension(self, ext: Any) -> None:
        """Build *ext*, or say why it is left out."""
        try:
            self._translate(ext)
            super().build_extension(ext)
        except Exception as error:  # without Cython, lxml's headers or a compiler it is pure Python
            print(f"{ext.name} is left out, Python does its work: {error}", file=sys.stderr)

    def _translate(self, ext: Any) -> None:
        """Replace the Cython source of *ext* by C."""
        from Cython.Build import cythonize

        name = ext.name.rpartition(".")[2]
        folder = Path(self.build_temp).absolute() / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sources.h").write_text(f'#define SOURCES_DIGEST "{digest_of(name)}"\n', "utf-8")
        (translated,) = cythonize([ext], build_dir=str(folder), force=True, quiet=True)
        ext.sources = translated.sources
        ext.include_dirs = [str(folder), "dedup/native", *_lxml_headers()]
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])


def _lxml_headers() -> list[str]:
    from lxml import get_include

    return get_include()


def _parts() -> list[Extension]:
    return [
        Extension(f"dedup.native.{path.stem}", [path.as_posix()], optional=True)
        for path in sorted(Path("dedup/native").glob("*.pyx"))
    ]


setup(ext_modules=_parts(), cmdclass={"build_ext": BuildIfPossible})
