"""Building blocks of several workloads, also used by the worker. None is a workload."""
