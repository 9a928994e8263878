"""Tools for agents: an MCP server, JSON schemas for function calling, and plain Python functions.

The official SDK's package is also called `mcp`; only `server` imports it.
"""
