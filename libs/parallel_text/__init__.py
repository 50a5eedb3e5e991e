"""Build an illustrated corpus from parallel text, as MultiSubs was built. No Django, no network.

The steps are in `parallel_text.building`; each reads and writes files of one folder, and can be run again by itself.
"""
