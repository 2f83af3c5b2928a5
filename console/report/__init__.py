"""The report as one HTML file that needs nothing else: no network, no other file."""

from console.report.page import page as page
