"""Runs, one or many, in processes of this machine or of others."""
