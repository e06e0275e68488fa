"""Anomaly detection with p-values: the probability of a false alarm is what you ask for."""

from exactcp.anomaly._detector import ConformalAnomalyDetector

__all__ = ["ConformalAnomalyDetector"]
