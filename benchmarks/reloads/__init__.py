"""Crawl articles and records whose pages change at each load, and count what is dropped and lost.

python -m benchmarks.reloads                          # articles at three addresses each, with each kind of noise
python -m benchmarks.reloads --order "in turns"       # first all articles, then their second addresses
python -m benchmarks.reloads --records                # records with counters, one in five at another address
python -m benchmarks.reloads --records --still        # the same without counters
python -m benchmarks.reloads --probes 0               # the same, and nothing is asked for twice
"""
