"""Prediction of handovers together with active queue management: the joint effect that the LTE paper announces."""
