"""What commands read and print: files of judgements and of automatic scores, their reports and plans."""
