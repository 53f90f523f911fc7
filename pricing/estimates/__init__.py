"""Planning estimates that need a library: internal rates, Monte Carlo, regressions, case files.

Everything here is float and says so; nothing here feeds an invoice.
"""
