"""Builds the compiled module; all else is in pyproject.toml."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

FLAGS = {"unix": ["-O3", "-ffp-contract=off"], "msvc": ["/O2"]}
digest_of_source = runpy.run_path("dedup/native/__init__.py")["digest_of_source"]


class Build(build_ext):
    """Builds the module from Cython."""

    def build_extension(self, ext: Any) -> None:
        """Build *ext*; ends with one sentence where there is no compiler."""
        from Cython.Build import cythonize
        from lxml import get_include

        folder = Path(self.build_temp).absolute() / "native"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sources.h").write_text(f'#define SOURCES_DIGEST "{digest_of_source()}"\n', "utf-8")
        (translated,) = cythonize([ext], build_dir=str(folder), force=True, quiet=True)
        ext.sources = translated.sources
        ext.include_dirs = [str(folder), *get_include()]
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])
        try:
            super().build_extension(ext)
        except (CCompilerError, ExecError, PlatformError) as error:
            raise SystemExit(
                f"scrapy-dedup has no wheel for this platform; to build {ext.name} a C compiler and the "
                "headers of Python are needed (Debian: apt install gcc python3-dev)"
            ) from error


setup(
    ext_modules=[Extension("dedup.native._pages", ["dedup/native/_pages.pyx"])],
    cmdclass={"build_ext": Build},
)
