"""W2VV++: captions of a language projected into a space of image features. PyTorch loads when it is first needed."""
