"""A session of Spark for the command, or a sentence that says what is missing."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
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
    if master:
        builder = builder.master(master)
    if not _is_submitted() and (not master or master.startswith("local")):
        # Workers of another Python would not have this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder if master else builder.master("local[*]")
        for name, value in _HERE.items():
            builder = builder.config(name, value)
    for name, value in {"spark.ui.showConsoleProgress": "false", **(options or {})}.items():
        builder = builder.config(name, value)
    # Of a pandas that is newer than what it was tested with; only Arrow is used here.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    try:
        session = builder.appName("dedup").getOrCreate()
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DedupError(f"Spark does not start: {first}") from error
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


def _is_submitted() -> bool:
    """Return whether spark-submit has started this, or a session is there: they say what it runs on."""
    from pyspark import SparkContext

    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._active_spark_context is not None
