"""The lab without a face: what measures, keeps, compares and tells."""
