"""The measuring engine: builds the arms of a run, warms them up and times them in rounds.

`run` calls `sweep`, which takes every arm through these steps at each size:

- `prepare`: build it, time the first and second call separately, observe which device computes;
- `warmup`: call it until its timings are steady, doubling the calls per block until a block is long enough;
- `rounds`: time one block of every arm per round, in random order, until all are precise or the time is up
  (`stopwatch` times a block, `interference` watches the machine);
- `caveats`: describe reasons to doubt the results;
- `phases`: find where a call's time goes, in a separate pass.

`tuilab.worker.selftest` checks this engine against calls of known duration.
"""
