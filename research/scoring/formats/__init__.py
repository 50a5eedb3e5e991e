"""Files of captions, references, figures and scores, in and out."""
