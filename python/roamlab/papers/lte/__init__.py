"""Improving TCP performance during the intra-LTE handover."""
