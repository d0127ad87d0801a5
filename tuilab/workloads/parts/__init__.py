"""Building blocks shared by several workloads and by the worker. None of them is a workload."""
