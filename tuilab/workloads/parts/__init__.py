"""What several workloads are made of, and what the worker measures with too. None of them is a workload."""
