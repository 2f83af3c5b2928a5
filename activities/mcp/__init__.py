"""MCP servers as tools of research subagents: named in a settings file, whitelisted per role.

`McpServers` is the way in. Whatever a server does, a subagent gets a result or an error it can
report; what a server said is stored under its hash, so quotes are checked against its own words.
Importing this package does not import `mcp`: a worker without servers does not pay for it.
"""
