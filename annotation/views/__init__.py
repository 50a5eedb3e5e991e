"""Pages: work.py and batches.py are the annotator's, projects.py the manager's."""
