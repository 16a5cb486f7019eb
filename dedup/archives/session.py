"""A session of Spark for the command, or a sentence that says what is missing."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from dedup.values.errors import DedupError

# One machine reaches itself, and nobody else does.
_HERE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}


def spark_session(master: str = "", options: dict[str, str] | None = None) -> Any:
    """Return a session on *master*; "" is what spark-submit says, or else all cores of this machine.

    *options* are settings of Spark.  Raises `DedupError` where pyspark or Java is missing.
    """
    builder = _builder()
    submitted = master or os.environ.get("MASTER", "") or _submitted()
    if not submitted or submitted.startswith("local"):
        # Workers of another Python would not have this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(submitted or "local[*]")
        for name, value in _HERE.items():
            builder = builder.config(name, value)
    elif master:
        builder = builder.master(master)
    for name, value in {"spark.ui.showConsoleProgress": "false", **(options or {})}.items():
        builder = builder.config(name, value)
    try:
        session = builder.appName("dedup").getOrCreate()
    except Exception as error:
        raise DedupError(f"Spark does not start: {str(error).splitlines()[0]}") from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def _builder() -> Any:
    try:
        import pandas  # noqa: F401 - Spark asks for it before it gives Arrow to a function
        import pyarrow  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise DedupError(
            f'archives on Spark need {error.name}; install it with: pip install "scrapy-dedup[spark]"'
        ) from error
    if not has_java():
        raise DedupError(
            "Spark needs Java 17 or newer: install a JRE (Debian: default-jre-headless) or set JAVA_HOME"
        )
    return SparkSession.builder


def has_java() -> bool:
    """Return whether there is a Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    return bool(shutil.which(os.path.join(home, "bin", "java") if home else "java"))


def _submitted() -> str:
    """Return the master that spark-submit has named, "" for none."""
    from pyspark import SparkConf, SparkContext

    if SparkContext._active_spark_context is not None:  # noqa: SLF001
        return str(SparkContext._active_spark_context.master)  # noqa: SLF001
    return SparkConf().get("spark.master", "") or ""
