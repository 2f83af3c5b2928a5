"""The turn loop that all roles share: conversation, tools, interrupts, request templates."""
