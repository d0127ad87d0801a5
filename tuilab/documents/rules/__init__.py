"""Rules for mistakes that make a measurement wrong: one small function per rule, and a table of all rules."""

from tuilab.documents.rules.rule import Finding, Hit, Rule
from tuilab.documents.rules.table import RULES, check, rule

__all__ = ["RULES", "Finding", "Hit", "Rule", "check", "rule"]
