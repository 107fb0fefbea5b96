"""Writes a star of tables with PySpark to ofs:// of a fresh server and to local files, and compares what queries say.

    judge.py ROWS
"""

import os
import pathlib
import sys
import tempfile
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tests"))

from queries import QUERIES  # noqa: E402
from server import Server  # noqa: E402

# Format, and algorithm of the committer that moves a job's files to their place.
RUNS = [("parquet", 1), ("orc", 2)]


def main(rows):
    with tempfile.TemporaryDirectory(prefix="o3-spark-") as folder:
        folder = pathlib.Path(folder)
        server = Server(folder / "data", folder / "server.log").start()
        try:
            differing = judge(session(server.ready["om"]), f"ofs://{server.ready['om']}/spark/tables", folder / "local", rows)
        finally:
            server.stop()
    print(f"{len(RUNS) * len(QUERIES)} answers, {differing} differ")
    return 1 if differing else 0


def session(om):
    options = {
        "spark.jars": os.environ["O3_SPARK_JAR"],
        "spark.driver.memory": "1500m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.hadoop.fs.ofs.impl": "org.apache.hadoop.fs.ozone.RootedOzoneFileSystem",
        "spark.hadoop.ozone.om.address": om,
    }
    builder = SparkSession.builder.master("local[2]").appName("ofs")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def judge(spark, ofs, local, rows):
    differing = 0
    for kind, committer in RUNS:
        told = {}
        for where, root in (("local", f"file://{local}"), ("ofs", ofs)):
            timed(f"{kind} to {where}, committer v{committer}", lambda: write(spark, rows, f"{root}/{kind}", kind, committer))
            told[where] = timed(f"{len(QUERIES)} queries on {where}", lambda: answers(spark, f"{root}/{kind}", kind))
        for name, expected in told["local"].items():
            if told["ofs"][name] != expected:
                differing += 1
                print(f"{kind}, {name}: expected {expected[:3]}, got {told['ofs'][name][:3]}")
    return differing


def timed(what, work):
    start = time.monotonic()
    result = work()
    print(f"{what}: {time.monotonic() - start:.1f} s", flush=True)
    return result


def write(spark, rows, root, kind, committer):
    """All tables; then one partition of sales is overwritten, and all are appended to."""
    spark.conf.set("mapreduce.fileoutputcommitter.algorithm.version", str(committer))
    sales = sales_of(spark, rows)

    def save(frame, name, mode, *partitions):
        frame.write.format(kind).mode(mode).partitionBy(*partitions).save(f"{root}/{name}")

    save(sales, "sales", "overwrite", "year")
    save(items(spark), "items", "overwrite")
    save(stores(spark), "stores", "overwrite")
    save(sales.where("year = 2022").withColumn("quantity", f.lit(7)), "sales", "overwrite", "year")
    save(sales.where("id % 100 = 0"), "sales", "append", "year")


def sales_of(spark, rows):
    def some(seed, below):
        return f.pmod(f.xxhash64("id", f.lit(seed)), f.lit(below))

    return spark.range(0, rows, 1, 8).select(
        "id",
        some(1, 20_000).cast("int").alias("item"),
        some(2, 50).cast("int").alias("store"),
        some(3, 100_000).alias("customer"),
        (some(4, 100) + 1).cast("int").alias("quantity"),
        (some(5, 100_000) / 100).cast("decimal(10,2)").alias("price"),
        f.sha2(f.col("id").cast("string"), 256).alias("note"),
        (f.lit(2020) + f.col("id") % 5).cast("int").alias("year"),
    )


def items(spark):
    number = f.col("id").cast("int")
    category, brand = f.concat(f.lit("c"), number % 10), f.concat(f.lit("b"), number % 300)
    return spark.range(0, 20_000).select(number.alias("item"), category.alias("category"), brand.alias("brand"))


def stores(spark):
    number = f.col("id").cast("int")
    return spark.range(0, 50).select(number.alias("store"), f.concat(f.lit("s"), number % 9).alias("state"))


def answers(spark, root, kind):
    for table in ("sales", "items", "stores"):
        spark.read.format(kind).load(f"{root}/{table}").createOrReplaceTempView(table)
    return {name: [tuple(row) for row in spark.sql(query).collect()] for name, query in QUERIES.items()}


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
