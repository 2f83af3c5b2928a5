"""How the cost of a job grows: facets, claims, passes, jobs at once, documents."""
