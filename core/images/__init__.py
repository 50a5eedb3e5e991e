"""Images, collections, imports and the derived sizes that are served."""
