"""Page-shaped reads: work.py for raters, who must not learn which model is which; the others for who reads results."""
