from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from dedup.cli.spark import has_java, spark_session

NO_SPARK = "there is no pyspark or no Java"
needs_spark = pytest.mark.skipif(not (find_spec("pyspark") and has_java()), reason=NO_SPARK)

# Small jobs are mostly the start of things: as little as possible is planned and compiled.
QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of two cores, where a task that dies is tried again."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    place = {"spark.local.dir": str(tmp_path_factory.mktemp("spark"))}
    session = spark_session({"spark.master": "local[2,4]", **QUICK, **place})
    yield session
    session.stop()
