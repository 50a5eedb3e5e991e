"""Accounts, projects and the roles people have in them, language skills, invitations, consent."""
