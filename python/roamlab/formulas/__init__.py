"""Closed forms next to a run: what theory expects, what the run has, and whether they agree.

`table` has what a formula and its comparison with a run are, `facts` what formulas ask of a run. Each other module is a
group of formulas; `compare` goes through all of them.
"""
