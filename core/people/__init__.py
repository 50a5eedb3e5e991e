"""Accounts, projects and people's roles in them, language skills, invitations, consent."""
