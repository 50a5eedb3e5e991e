"""Files of judgements, scores, reports and plans, in and out."""
